import type { JsonValue } from "../../capability/index.ts";
import { type PathTokens, refuse } from "./pointer-text.ts";
import { dataOf, plainKeys } from "./read-plain.ts";

/** How large a JSON value may be. A bound that is left out does not hold. */
export interface JsonLimits {
  /** Deepest nesting of objects and arrays, the outermost one included. */
  readonly depth?: number;
  /** Most values: each object, array and scalar counts, a shared one as often as it is reached. */
  readonly nodes?: number;
  /** Longest single string or key, in UTF-16 code units. */
  readonly textLength?: number;
  /** All strings and keys together, in UTF-16 code units. */
  readonly totalTextLength?: number;
}

/**
 * A deeply frozen copy of a value that canonical JSON can say. No code of the value runs: accessors and proxies are refused unread, and
 * sizes are checked on the way. A hidden property under a symbol is nobody's data and is left out.
 *
 * @param at where the value stands in a larger one; places are named from there
 * @throws TypeError naming the JSON pointer and the rule, never the value
 */
export function ownJson(value: unknown, limits: JsonLimits = {}, at: PathTokens = []): JsonValue {
  const walk: Walk = { limits, nodes: 0, text: 0, at, frames: [], open: new Set() };
  const root = take(walk, value);
  for (let frame = walk.frames.at(-1); frame !== undefined; frame = walk.frames.at(-1)) {
    const key = frame.keys[frame.next];
    if (key === undefined) close(walk, frame);
    else {
      frame.put(
        key,
        take(
          walk,
          dataOf(frame.source, key, () => placeOf(walk)),
        ),
      );
      frame.next += 1;
    }
  }
  return root;
}

/** An object or array on the way from the root to where the walk stands. There is no recursion, so that depth costs no stack. */
interface Frame {
  readonly source: object;
  readonly copy: object;
  readonly keys: readonly string[];
  readonly put: (key: string, member: JsonValue) => void;
  /** Index of the key whose member is taken next. */
  next: number;
}

interface Walk {
  readonly limits: JsonLimits;
  readonly at: PathTokens;
  readonly frames: Frame[];
  /** The sources of `frames`: who meets one of them again has found a cycle. */
  readonly open: Set<object>;
  nodes: number;
  text: number;
}

/** A scalar as it is, or the empty copy of a container that the walk fills next. */
function take(walk: Walk, value: unknown): JsonValue {
  walk.nodes += 1;
  bound(walk, walk.nodes, walk.limits.nodes, "values");
  switch (typeof value) {
    case "string":
      return takeText(walk, value);
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) return refuse(placeOf(walk), `${value} is not a JSON number`);
      if (Object.is(value, -0)) return refuse(placeOf(walk), "-0 is not a canonical number");
      return value;
    case "object":
      return value === null ? null : open(walk, value);
    default:
      return refuse(placeOf(walk), `${typeof value} is not JSON`);
  }
}

function open(walk: Walk, source: object): JsonValue {
  if (walk.open.has(source)) return refuse(placeOf(walk), "a cycle");
  bound(walk, walk.frames.length + 1, walk.limits.depth, "levels of nesting");
  const room = (walk.limits.nodes ?? Number.POSITIVE_INFINITY) - walk.nodes;
  const keys = plainKeys(source, () => placeOf(walk), room);
  const [copy, put] = Array.isArray(source) ? emptyArray() : emptyObject(walk);
  walk.frames.push({ source, copy, keys, put, next: 0 });
  walk.open.add(source);
  return copy;
}

function emptyArray(): [JsonValue[], Frame["put"]] {
  const copy: JsonValue[] = [];
  return [copy, (_index, member) => void copy.push(member)];
}

/** A key such as `__proto__` is data like any other. */
function emptyObject(walk: Walk): [Record<string, JsonValue>, Frame["put"]] {
  const copy: Record<string, JsonValue> = {};
  const put = (key: string, value: JsonValue): void => {
    takeText(walk, key);
    Object.defineProperty(copy, key, { value, enumerable: true, writable: true, configurable: true });
  };
  return [copy, put];
}

function close(walk: Walk, frame: Frame): void {
  Object.freeze(frame.copy);
  walk.frames.pop();
  walk.open.delete(frame.source);
}

function takeText(walk: Walk, text: string): string {
  bound(walk, text.length, walk.limits.textLength, "characters in one text");
  walk.text += text.length;
  bound(walk, walk.text, walk.limits.totalTextLength, "characters in all texts together");
  return text.isWellFormed() ? text : refuse(placeOf(walk), "a lone surrogate");
}

function bound(walk: Walk, count: number, limit: number | undefined, what: string): void {
  if (limit !== undefined && count > limit) refuse(placeOf(walk), `more than ${limit} ${what}`);
}

/** Every frame but the last was left by the key before its `next`. */
function placeOf({ at, frames }: Walk): PathTokens {
  const keys = frames.map(({ keys, next }, index) => keys[index === frames.length - 1 ? next : next - 1]);
  return [...at, ...keys.filter((key) => key !== undefined)];
}
