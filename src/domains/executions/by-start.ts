export interface StartedSpan {
  spanId: string;
  startUnixNano: bigint;
}

/** The order of siblings everywhere: by start, then by id. */
export function byStart(a: StartedSpan, b: StartedSpan): number {
  if (a.startUnixNano !== b.startUnixNano) return a.startUnixNano < b.startUnixNano ? -1 : 1;
  return a.spanId < b.spanId ? -1 : 1;
}
