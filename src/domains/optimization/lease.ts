import type { ProjectId } from '../../lib/ids.ts';

/**
 * A worker renews its lease every second. After this time without a renewal, another worker may take
 * the run.
 */
export const leaseMs = 5_000;

/** The right to write to a run. Another worker that takes the run gets another token. */
export interface Lease {
  projectId: ProjectId;
  runId: string;
  token: string;
}

/** Thrown when another worker has taken the run, or the run is gone. */
export class LeaseLost extends Error {
  constructor() {
    super('Another worker has taken the run');
    this.name = 'LeaseLost';
  }
}

/** Thrown when a caller wants the run to end. */
export class Cancelled extends Error {
  constructor() {
    super('The run was cancelled');
    this.name = 'Cancelled';
  }
}

/** Limits a statement to the run of a lease, as long as the lease is held. */
export const underLease = ({ projectId, runId, token }: Lease) => ({
  ...{ project_id: projectId, id: runId, lease_token: token },
});
