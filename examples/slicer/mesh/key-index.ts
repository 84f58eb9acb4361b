/** Numbers distinct keys in the order in which they first come. A key is three unsigned 32-bit integers. */
export interface KeyIndex {
  readonly count: number;
  /** The key's number, from 0. */
  readonly numberOf: (a: number, b: number, c: number) => number;
  /** All keys, three words each. */
  readonly keys: () => Uint32Array<ArrayBuffer>;
}

/** @param most different keys that may come; the memory is taken at once, about 20 bytes for each */
export function createKeyIndex(most: number): KeyIndex {
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2, most * 1.5)))).fill(-1);
  const mask = slots.length - 1;
  const keys = new Uint32Array(3 * most);
  // By chance, so that nobody can make a file whose keys all meet in one slot. The numbers do not depend on it.
  const [seed = 1] = crypto.getRandomValues(new Uint32Array(1));
  let count = 0;
  return {
    get count() {
      return count;
    },
    numberOf(a, b, c) {
      let slot = mix(mix(mix(seed, a), b), c) & mask;
      for (let found = slots[slot] as number; found !== -1; found = slots[slot] as number) {
        const at = 3 * found;
        if (keys[at] === a && keys[at + 1] === b && keys[at + 2] === c) return found;
        slot = (slot + 1) & mask;
      }
      slots[slot] = count;
      keys[3 * count] = a;
      keys[3 * count + 1] = b;
      keys[3 * count + 2] = c;
      count += 1;
      return count - 1;
    },
    keys: () => keys.slice(0, 3 * count),
  };
}

/** Every bit of the result depends on every bit of both. */
function mix(state: number, word: number): number {
  let bits = Math.imul(state ^ word, 0x9e3779b1);
  bits = Math.imul(bits ^ (bits >>> 15), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
