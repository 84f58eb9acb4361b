import type { StlReader } from "./read-stl.ts";
import { StlError } from "./stl-error.ts";
import { createTextWords } from "./text-words.ts";
import type { TriangleBuffer } from "./triangle-buffer.ts";

/** What a triangle is in words. `NORMAL` and `COORDINATE` stand for a number. */
const corner = "vertex COORDINATE COORDINATE COORDINATE";
const facet =
  `facet normal NORMAL NORMAL NORMAL outer loop ${corner} ${corner} ${corner} endloop endfacet`.split(" ");

const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
/** Programs write such normals for triangles without an area. */
const noNumber = /^[+-]?(nan|inf)/i;

/**
 * Reads text STL into a buffer. A solid's name ends with its line, or, in a file without lines, with `facet normal` or `endsolid`.
 */
export function createTextReader(into: TriangleBuffer, maxTriangles: number): StlReader {
  /** Where the grammar stands: before a solid, in its name, in a name after the word `facet`, in its triangles, or in the name after its end. */
  let place: "before" | "name" | "name-facet" | "body" | "after" = "before";
  /** Words of a triangle that have been read. */
  let step = 0;

  const takeWord = (word: string, startsLine: boolean): void => {
    if (place === "after" && (startsLine || is(word, "solid"))) place = "before";
    if (place === "name" && startsLine) place = "body";
    if (place === "name-facet") {
      if (is(word, "normal")) {
        place = "body";
        step = 2;
        return;
      }
      place = startsLine ? "body" : "name";
    }
    if (place === "body") takeBodyWord(word);
    else if (place === "before") {
      expectWord(word, "solid");
      place = "name";
    } else if (place === "name" && is(word, "facet")) place = "name-facet";
    else if (place === "name" && is(word, "endsolid")) place = "after";
  };

  const takeBodyWord = (word: string): void => {
    if (step === 0 && is(word, "endsolid")) {
      place = "after";
      return;
    }
    const wanted = facet[step] as string;
    if (wanted === "COORDINATE") takeCoordinate(word);
    else if (wanted === "NORMAL") {
      if (!number.test(word) && !noNumber.test(word)) refuse("syntax", "expected a number");
    } else expectWord(word, wanted);
    step = (step + 1) % facet.length;
  };

  const takeCoordinate = (word: string): void => {
    if (noNumber.test(word)) refuse("not_finite", "a coordinate is not finite");
    if (!number.test(word)) refuse("syntax", "expected a number");
    if (into.count === maxTriangles)
      refuse(
        "too_many_triangles",
        `more than ${maxTriangles} triangles: raise the limit, or simplify the mesh`,
      );
    into.append(Number(word));
  };

  const expectWord = (word: string, wanted: string): void => {
    if (!is(word, wanted)) refuse("syntax", `expected "${wanted}"`);
  };

  const words = createTextWords(takeWord);
  const refuse = (code: "syntax" | "not_finite" | "too_many_triangles", what: string): never => {
    throw new StlError(code, `line ${words.line()}: ${what}`);
  };

  return {
    push: words.push,
    end() {
      words.end();
      if (place !== "before" && place !== "after")
        throw new StlError("truncated", `line ${words.line()}: the file ends before "endsolid"`);
    },
  };
}

function is(word: string, wanted: string): boolean {
  return word.length === wanted.length && word.toLowerCase() === wanted;
}
