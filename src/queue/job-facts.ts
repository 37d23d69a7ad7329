/** Facts about a job that a processor receives besides the payload. */
export interface JobFacts {
  id: string;
  attemptsMade: number;
  /** Whether a worker has begun it before. */
  isRepeated: boolean;
  /** Number of workers that died or hung while they processed this job. Pauses that they survived do not count. */
  stalledCounter: number;
  /**
   * Returns whether this worker still holds the job. Another worker may have taken and finished it
   * during a pause.
   */
  isOurs: () => Promise<boolean>;
}
