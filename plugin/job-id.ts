/** The two parts of a public job id. */
export interface JobId {
  /** The row's id, decimal: a 64-bit integer does not fit a number. */
  readonly row: string;
  /** The 10 random bytes stored with the job, as 20 hex digits. */
  readonly nonce: string;
}

const prefix = "job_";
/** Used up within one call: a buffer for each id is a good part of what a job leaves to the garbage collector. */
const bytes = Buffer.alloc(18);

/** `job_` and 24 base64url characters: 8 bytes of the row's id, then the 10 random bytes. */
export function formatJobId(id: JobId): string {
  const row = Number(id.row);
  if (Number.isSafeInteger(row)) {
    bytes.writeUInt32BE(Math.floor(row / 2 ** 32), 0);
    bytes.writeUInt32BE(row % 2 ** 32, 4);
  } else bytes.writeBigInt64BE(BigInt(id.row), 0);
  bytes.write(id.nonce, 8, "hex");
  return prefix + bytes.toString("base64url");
}

/** The parts of a well-formed id, or undefined. Whether such a job exists is another question. */
export function parseJobId(text: string): JobId | undefined {
  if (!/^job_[A-Za-z0-9_-]{24}$/.test(text)) return undefined;
  bytes.write(text.slice(prefix.length), "base64url");
  const high = bytes.readUInt32BE(0);
  if (high >= 2 ** 31) return undefined;
  const row = high < 2 ** 21 ? high * 2 ** 32 + bytes.readUInt32BE(4) : bytes.readBigInt64BE(0);
  return { row: row.toString(), nonce: bytes.toString("hex", 8) };
}
