import { StlError } from "./stl-error.ts";

/** Longest word. A number needs far less; a name without blanks may come near. */
export const WORD_LIMIT = 1024;

/** Splits a text that comes in pieces into its words. */
export interface TextWords {
  /** @throws StlError `syntax` for a word that is too long, and whatever the taker throws */
  readonly push: (chunk: Uint8Array) => void;
  /** The text has ended, and with it the last word. */
  readonly end: () => void;
  /** The line of the word that is being taken, from 1. */
  readonly line: () => number;
}

/**
 * @param take gets each word, and whether a line began since the word before it. Bytes beyond ASCII are characters of their own.
 */
export function createTextWords(take: (word: string, startsLine: boolean) => void): TextWords {
  const decoder = new TextDecoder("latin1");
  let line = 1;
  let startsLine = false;
  let afterReturn = false;
  /** The beginning of a word that the last piece cut. */
  let cut = "";

  const takeWord = (word: string): void => {
    if (word.length > WORD_LIMIT)
      throw new StlError("syntax", `line ${line}: a word of more than ${WORD_LIMIT} bytes`);
    take(word, startsLine);
    startsLine = false;
    afterReturn = false;
  };
  const passSpace = (code: number): void => {
    if (code === LINE_FEED || code === RETURN) {
      if (code === RETURN || !afterReturn) line += 1;
      startsLine = true;
    }
    afterReturn = code === RETURN;
  };

  return {
    push(chunk) {
      const text = decoder.decode(chunk);
      let at = 0;
      while (at < text.length) {
        const from = at;
        while (at < text.length && !isSpace(text.charCodeAt(at))) at += 1;
        if (at === text.length) {
          cut += text.slice(from);
          if (cut.length > WORD_LIMIT) takeWord(cut);
          return;
        }
        if (at > from || cut !== "") {
          takeWord(cut + text.slice(from, at));
          cut = "";
        }
        while (at < text.length && isSpace(text.charCodeAt(at))) {
          passSpace(text.charCodeAt(at));
          at += 1;
        }
      }
    },
    end() {
      if (cut !== "") takeWord(cut);
      cut = "";
    },
    line: () => line,
  };
}

const LINE_FEED = 10;
const RETURN = 13;

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}
