import { inject } from 'vitest';

/**
 * Returns the URL of a Redis database that no process of the run uses: database `number`, or a cluster
 * of its own where the run has a cluster, which has no numbers.
 */
export function ownRedisUrl(number: number): string {
  const url = inject('ownRedisUrls')[number];
  if (url === undefined) throw new Error(`There is no Redis database ${number}`);
  return url;
}
