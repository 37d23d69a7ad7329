/** Knows since when a worker has had bodies under way without ending one: "takes but does not store". */
export class BodyProgress {
  #underWay = 0;
  #sinceMs: number | undefined;

  /** In milliseconds since the epoch; null while nothing is under way. */
  get busySinceMs(): number | null {
    return this.#underWay > 0 ? (this.#sinceMs ?? null) : null;
  }

  begin(nowMs: number): void {
    this.#underWay++;
    this.#sinceMs ??= nowMs;
  }

  /** `done` is false when the body has to be tried again, which is no progress. */
  end(nowMs: number, done: boolean): void {
    this.#underWay--;
    if (this.#underWay === 0) this.#sinceMs = undefined;
    else if (done) this.#sinceMs = nowMs;
  }
}
