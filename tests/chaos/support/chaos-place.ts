import { join } from "node:path";
import type { TestDriver } from "../../postgres/support/jobs-host.ts";
import { type ChaosProcess, type ChaosRole, startChaosProcess } from "./chaos-process.ts";
import type { ChaosRun } from "./chaos-run.ts";
import { type FaultLink, openFaultLink } from "./fault-link.ts";

export interface ChaosPlaceOptions {
  readonly run: ChaosRun;
  readonly role: ChaosRole;
  /** Such as `worker-2`. */
  readonly name: string;
  readonly driver: TestDriver;
  readonly url: string;
  /** The folder of all ledgers of the run. */
  readonly directory: string;
  /** Hears of a process that ended by itself before it was asked to. */
  readonly onEnd: (what: string) => void;
}

/** A place at which one process after the other stands, each with a link of its own. */
export class ChaosPlace {
  readonly #options: ChaosPlaceOptions;
  #made = 0;
  #process!: ChaosProcess;
  #link!: FaultLink;
  /** The one whose end is no surprise. */
  #expectedEnd: ChaosProcess | undefined;
  /** What happens to it happens one after the other. */
  #turn: Promise<void> = Promise.resolve();

  private constructor(options: ChaosPlaceOptions) {
    this.#options = options;
  }

  /** With its first process. */
  static async open(options: ChaosPlaceOptions): Promise<ChaosPlace> {
    const place = new ChaosPlace(options);
    await place.#fill();
    return place;
  }

  get process(): ChaosProcess {
    return this.#process;
  }

  get link(): FaultLink {
    return this.#link;
  }

  /** Runs one fault, after those that this place has before it. */
  inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work);
    return this.#turn;
  }

  /** Kills the process and lets a new one take its place. Answers the link of the dead, for its caller to close. */
  async replace(): Promise<FaultLink> {
    const buried = this.#link;
    this.#expectedEnd = this.#process;
    await this.#process.kill();
    await this.#fill();
    return buried;
  }

  /** Lets the process finish and end by itself; throws when it does not, or not well. */
  async finish(limitMs: number): Promise<void> {
    this.#expectedEnd = this.#process;
    const code = await this.#process.finish(limitMs);
    if (code !== 0) this.#options.onEnd(`${this.#options.name} ended with code ${code} after SIGTERM`);
    await this.#link.close();
  }

  async destroy(): Promise<void> {
    this.#expectedEnd = this.#process;
    await this.#process.kill();
    await this.#link.close();
  }

  async #fill(): Promise<void> {
    const { run, role, name, driver, url, directory, onEnd } = this.#options;
    const ledger = (number: number): string => join(directory, `${name}.${number}.jsonl`);
    this.#link = await openFaultLink(url);
    const started = startChaosProcess({
      run,
      role,
      name: `${name}.${this.#made}`,
      driver,
      url: this.#link.url,
      ledger: ledger(this.#made),
      ...(this.#made > 0 && { earlier: ledger(this.#made - 1) }),
    });
    this.#made += 1;
    this.#process = started;
    void started.exited.then((code) => {
      if (this.#expectedEnd !== started) onEnd(`${name} ended by itself with code ${code}`);
    });
  }
}
