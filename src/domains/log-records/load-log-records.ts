/**
 * Loads the functions of log records. A worker loads them when the first project sends log records,
 * so projects without any pay nothing. Threads import `reads.ts` itself: Piscina starts them in a way
 * in which TypeScript cannot be imported later.
 */
export const loadLogRecords = () => import('./reads.ts');
