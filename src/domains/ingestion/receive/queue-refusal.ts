import { infoFields } from '../../../stores/redis/info.ts';

const lateMsMax = 15 * 60_000;
/**
 * The share of Redis memory that bodies may fill. The rest is for the workers that drain them, and
 * for what several API processes accept between two polls.
 */
const memoryShareMax = 0.6;

/**
 * Returns why Redis would not keep data safely; undefined when it would. `info` is the text of
 * INFO.
 */
export function unsafeReasonOf(info: string): string | undefined {
  const field = infoFields(info);
  if (field('loading') === '1') return 'the queue is loading its data';
  if (field('aof_enabled') !== '1') return 'Redis runs without its append-only file (set appendonly yes)';
  if (field('aof_last_write_status') !== 'ok') return 'Redis cannot write its append-only file';
  if (field('maxmemory_policy') !== 'noeviction') return 'Redis may evict data (set maxmemory-policy noeviction)';
  return undefined;
}

/**
 * Returns how many bytes Redis may hold before bodies are refused: 60 % of `maxmemory`, or
 * `memoryBytesMax` when Redis sets none.
 */
export function bodiesBytesMax(info: string, memoryBytesMax: number): number {
  return Math.floor(Number(infoFields(info)('maxmemory')) * memoryShareMax) || memoryBytesMax;
}

/** Returns how many more bytes of bodies may come; negative when there are too many. */
export function bytesLeft(info: string, memoryBytesMax: number): number {
  return bodiesBytesMax(info, memoryBytesMax) - Number(infoFields(info)('used_memory'));
}

/**
 * Returns why bodies must be refused; undefined when they may come. `info` is the text of INFO;
 * `waitingSinceMs` is since when the workers leave a lane waiting.
 */
export function refusalOf(
  info: string,
  waitingSinceMs: number | undefined,
  memoryBytesMax: number,
  nowMs = Date.now(),
): string | undefined {
  const unsafe = unsafeReasonOf(info);
  if (unsafe !== undefined) return unsafe;
  if (bytesLeft(info, memoryBytesMax) < 0) {
    const used = infoFields(info)('used_memory');
    return `the queue has ${used} bytes, more than the limit of ${bodiesBytesMax(info, memoryBytesMax)}`;
  }
  if (waitingSinceMs !== undefined && nowMs - waitingSinceMs > lateMsMax) {
    return 'the workers are more than 15 minutes behind';
  }
  return undefined;
}
