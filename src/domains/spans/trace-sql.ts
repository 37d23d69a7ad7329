/** The trace of one project; `traceId` is 32 hex digits. */
export interface TraceKey {
  projectId: string;
  traceId: string;
}

/** Of a query with these two parameters; the id as 32 hex digits. */
export const ofTrace = 'project_id = {projectId:String} AND trace_id = toFixedString(unhex({traceId:String}), 16)';

/**
 * That a row is of one of these traces: `ids` stands for a bound String of their 32 hex digits each, one after the other. An array that
 * is made without a lambda is looked up in the primary key as the set of a sub-query is, and takes a third less time.
 */
export function ofTraces(ids: string): string {
  return `trace_id IN reinterpret(unhex(${ids}), 'Array(FixedString(16))')`;
}
