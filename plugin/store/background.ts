/** Work that goes on while nobody waits for it, until the store closes. */
export class Background {
  readonly #underWay = new Set<Promise<void>>();

  /** `work` must not reject: there is nobody to tell. */
  run(work: () => Promise<void>): void {
    const done = work();
    this.#underWay.add(done);
    void done.then(() => this.#underWay.delete(done));
  }

  /** Resolves when everything has ended, what was added meanwhile included. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }
}
