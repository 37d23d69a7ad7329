/** Where a received body waits for its job. Begins with the tenant; the job id is a hash, so the key has a bounded length. */
export function bodyKey(projectId: string, jobId: string): string {
  return `${projectId}:ingest-body:${jobId}`;
}

/** Matches every {@link bodyKey}, for SCAN. */
export const bodyKeyPattern = '*:ingest-body:*';

/** The parts of a {@link bodyKey}, or undefined for another key. */
export function parseBodyKey(key: string): { projectId: string; jobId: string } | undefined {
  const [projectId, middle, jobId] = key.split(':');
  return middle === 'ingest-body' && projectId && jobId ? { projectId, jobId } : undefined;
}
