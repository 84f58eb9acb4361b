/** A clock that a test moves. Instants are RFC 3339 in UTC with microseconds, as everywhere on the wire. */
export interface TestClock {
  now(): Promise<string>;
  /** Moves the clock forward. Fractions down to a microsecond count. */
  advance(milliseconds: number): Promise<void>;
}

/** What the in-memory model reads its time from. */
export interface InstantSource {
  readonly instant: string;
}

/** A clock that stands still until it is advanced. */
export function createTestClock(start = "2026-01-01T00:00:00.000000Z"): TestClock & InstantSource {
  let instant = addMilliseconds(start, 0);
  return {
    get instant() {
      return instant;
    },
    now: async () => instant,
    advance: async (milliseconds) => {
      instant = addMilliseconds(instant, forward(milliseconds));
    },
  };
}

/** The process's own clock. */
export const systemClock: InstantSource = {
  get instant() {
    return formatMicroseconds(Math.floor((performance.timeOrigin + performance.now()) * 1000));
  },
};

/** The instant that many milliseconds later, exact to the microsecond. */
export function addMilliseconds(instant: string, milliseconds: number): string {
  const [, start = "", fraction = ""] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z$/.exec(instant) ?? [];
  const seconds = Date.parse(`${start}Z`);
  if (Number.isNaN(seconds)) {
    throw new RangeError(`expected an instant such as 2026-01-01T00:00:00.000000Z, got "${instant}"`);
  }
  const microseconds = Number(fraction.padEnd(6, "0")) + Math.round(milliseconds * 1000);
  const whole = Math.floor(microseconds / 1_000_000);
  return format(seconds + whole * 1000, microseconds - whole * 1_000_000);
}

/** @throws RangeError for a step back: the stores are built for a clock that only goes forward. */
export function forward(milliseconds: number): number {
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return milliseconds;
  throw new RangeError(`a clock advances by 0 or more milliseconds, got ${milliseconds}`);
}

function formatMicroseconds(microseconds: number): string {
  const whole = Math.floor(microseconds / 1_000_000);
  return format(whole * 1000, microseconds - whole * 1_000_000);
}

function format(wholeSecondsInMs: number, microseconds: number): string {
  const seconds = new Date(wholeSecondsInMs).toISOString().slice(0, 19);
  return `${seconds}.${String(microseconds).padStart(6, "0")}Z`;
}
