/** What a processor is told of its job beside the payload. */
export interface JobFacts {
  id: string;
  attemptsMade: number;
  /** How many workers died or hung with this job under way. */
  stalledCounter: number;
  /** Whether this worker still holds the job; another may have taken and ended it while this one was paused. */
  isOurs: () => Promise<boolean>;
}
