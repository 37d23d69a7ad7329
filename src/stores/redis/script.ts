import { createHash } from 'node:crypto';
import type { Redis } from './client.ts';

/** A Lua script. It is sent by its digest once Redis knows it. */
export interface RedisScript {
  run(redis: Redis, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/**
 * Creates a script. A run takes one round trip, or two if Redis does not know the script (first
 * use, SCRIPT FLUSH, restart).
 */
export function createScript(lua: string): RedisScript {
  const digest = createHash('sha1').update(lua).digest('hex');
  return {
    async run(redis, keys, args) {
      try {
        return await redis.evalsha(digest, keys.length, ...keys, ...args);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return redis.eval(lua, keys.length, ...keys, ...args);
      }
    },
  };
}
