/**
 * The type itself where it can be JSON, `never` where it cannot: `Date`, `bigint`, functions and class instances with methods.
 * An optional member is fine; one that is present and undefined is refused at run time.
 */
export type Jsonable<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends undefined | bigint | symbol | AnyFunction
      ? never
      : T extends object
        ? { [Key in keyof T]: undefined extends T[Key] ? JsonableOrAbsent<T[Key]> : Jsonable<T[Key]> }
        : never;

type JsonableOrAbsent<T> = Jsonable<Exclude<T, undefined>> | undefined;
type AnyFunction = (...parameters: never) => unknown;

/** Fails to compile for a type that cannot be JSON: intersect a parameter with it. */
export type RequireJson<T> = [T] extends [Jsonable<T>]
  ? unknown
  : { readonly "the type must be JSON": never };
