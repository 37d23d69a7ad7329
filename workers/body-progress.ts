/**
 * Records since when a worker has had bodies in progress without finishing one, to detect a worker
 * that takes bodies but stores none.
 */
export class BodyProgress {
  #underWay = 0;
  #sinceMs: number | undefined;

  /** In milliseconds since the epoch; null while no body is in progress. */
  get busySinceMs(): number | null {
    return this.#underWay > 0 ? (this.#sinceMs ?? null) : null;
  }

  begin(nowMs: number): void {
    this.#underWay++;
    this.#sinceMs ??= nowMs;
  }

  /** `done` is false when the body must be tried again, which does not count as progress. */
  end(nowMs: number, done: boolean): void {
    this.#underWay--;
    if (this.#underWay === 0) this.#sinceMs = undefined;
    else if (done) this.#sinceMs = nowMs;
  }
}
