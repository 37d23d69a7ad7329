import { Cluster } from 'ioredis';
import type { Redis } from './client.ts';
import { laneBaseKey } from './names.ts';

/**
 * Reads a section of INFO, in a cluster that of the node that has the bodies. A script is sent to the
 * node of its key.
 * @throws the error of Redis
 */
export async function readInfo(redis: Redis, section: 'memory' | 'persistence'): Promise<string> {
  if (!(redis instanceof Cluster)) return redis.info(section);
  return String(await redis.eval("return redis.call('INFO', ARGV[1])", 1, laneBaseKey, section));
}

/**
 * Returns a function that looks up a field in the text of INFO; undefined when the field is
 * missing.
 */
export function infoFields(info: string): (name: string) => string | undefined {
  return (name) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
