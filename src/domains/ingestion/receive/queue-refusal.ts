import { infoFields } from '../../../queue/redis-info.ts';

const oldestWaitingMsMax = 15 * 60_000;
/**
 * The part of Redis that bodies may fill. The rest is for the workers that drain them, and for what several API processes take
 * between two looks.
 */
const memoryShareMax = 0.6;

/** Why Redis would not keep what it is given, from the text of INFO; undefined when it would. */
export function unsafeReasonOf(info: string): string | undefined {
  const field = infoFields(info);
  if (field('loading') === '1') return 'the queue is loading its data';
  if (field('aof_enabled') !== '1') return 'Redis runs without its append-only file (set appendonly yes)';
  if (field('aof_last_write_status') !== 'ok') return 'Redis cannot write its append-only file';
  if (field('maxmemory_policy') !== 'noeviction') return 'Redis may evict data (set maxmemory-policy noeviction)';
  return undefined;
}

/** How many bytes Redis may hold before bodies are refused: 60 % of `maxmemory`, or `memoryBytesMax` where it sets none. */
export function bodiesBytesMax(info: string, memoryBytesMax: number): number {
  return Math.floor(Number(infoFields(info)('maxmemory')) * memoryShareMax) || memoryBytesMax;
}

/** How many bytes of bodies may still come; negative when there are too many. */
export function bytesLeft(info: string, memoryBytesMax: number): number {
  return bodiesBytesMax(info, memoryBytesMax) - Number(infoFields(info)('used_memory'));
}

/** Why bodies must be refused, from the text of INFO and when the oldest job was received; undefined when they need not be. */
export function refusalOf(
  info: string,
  oldestWaitingAtMs: number | undefined,
  memoryBytesMax: number,
  nowMs = Date.now(),
): string | undefined {
  const unsafe = unsafeReasonOf(info);
  if (unsafe !== undefined) return unsafe;
  if (bytesLeft(info, memoryBytesMax) < 0) {
    const used = infoFields(info)('used_memory');
    return `the queue holds ${used} bytes, more than its ${bodiesBytesMax(info, memoryBytesMax)}`;
  }
  if (oldestWaitingAtMs !== undefined && nowMs - oldestWaitingAtMs > oldestWaitingMsMax) {
    return 'the workers are more than 15 minutes behind';
  }
  return undefined;
}
