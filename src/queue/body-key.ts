/**
 * Returns the Redis key of a received body that waits for its job. The key starts with the tenant.
 * The job id is a hash, so the key has a bounded length.
 */
export function bodyKey(projectId: string, jobId: string): string {
  return `${projectId}:ingest-body:${jobId}`;
}

/** Matches every {@link bodyKey}, for SCAN. */
export const bodyKeyPattern = '*:ingest-body:*';

/** Returns the components of a {@link bodyKey}, or undefined for any other key. */
export function parseBodyKey(key: string): { projectId: string; jobId: string } | undefined {
  const [projectId, middle, jobId] = key.split(':');
  return middle === 'ingest-body' && projectId && jobId ? { projectId, jobId } : undefined;
}
