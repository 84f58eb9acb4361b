import type { JsonValue } from "../capability/index.ts";

/**
 * The type itself where it can be JSON, `never` where it cannot: `Date`, `bigint`, functions and class instances with methods.
 * An optional member is fine; one that is present and undefined is refused at run time. `unknown` and `any` are let through: what they
 * hold is checked at run time alone.
 */
export type Jsonable<T> = unknown extends T
  ? T
  : [T] extends [JsonValue] // most types end here, and `JsonValue` itself has to: taken apart, it would never end
    ? T
    : T extends string | number | boolean | null
      ? T
      : T extends undefined | bigint | symbol | AnyFunction
        ? never
        : T extends readonly unknown[]
          ? JsonableArray<T>
          : T extends object
            ? { [Key in keyof T]: undefined extends T[Key] ? JsonableOrAbsent<T[Key]> : Jsonable<T[Key]> }
            : never;

/** An array by its one element type, so that a type that contains lists of itself is not taken apart for ever; a tuple by its places. */
type JsonableArray<T extends readonly unknown[]> = number extends T["length"]
  ? readonly Jsonable<T[number]>[]
  : { [Key in keyof T]: Jsonable<T[Key]> };

type JsonableOrAbsent<T> = Jsonable<Exclude<T, undefined>> | undefined;
type AnyFunction = (...parameters: never) => unknown;

/** Fails to compile for a type that cannot be JSON: intersect a parameter with it. */
export type RequireJson<T> = [T] extends [Jsonable<T>]
  ? unknown
  : { readonly "the type must be JSON": never };
