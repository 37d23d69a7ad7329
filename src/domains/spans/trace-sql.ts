/** A trace of one project; `traceId` is 32 hex digits. */
export interface TraceKey {
  projectId: string;
  traceId: string;
}

/** SQL condition for the rows of one trace, with the two parameters of {@link TraceKey}. */
export const ofTrace = 'project_id = {projectId:String} AND trace_id = toFixedString(unhex({traceId:String}), 16)';

/**
 * Returns the SQL condition for the rows of several traces. `ids` names a bound String parameter:
 * the 32 hex digits of each id, concatenated. An array built without a lambda uses the primary key
 * as a sub-query's set does, and takes a third less time.
 */
export function ofTraces(ids: string): string {
  return `trace_id IN reinterpret(unhex(${ids}), 'Array(FixedString(16))')`;
}
