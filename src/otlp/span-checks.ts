import type { ItemFault } from './rejections.ts';

export const traceIdBytes = 16;
export const spanIdBytes = 8;

export const idRules = {
  traceId: 'traceId must be 16 bytes (32 hex characters), not all zero',
  spanId: 'spanId must be 8 bytes (16 hex characters), not all zero',
  parentSpanId: 'parentSpanId must be empty, all zero or 8 bytes (16 hex characters)',
} as const;

/** Byte ranges of the ids of one span or log record. The scan and the decoder both fill one. */
export interface IdRanges {
  traceStart: number;
  traceEnd: number;
  spanStart: number;
  spanEnd: number;
  parentStart: number;
  parentEnd: number;
}

/** Creates ranges in which all ids are absent. */
export function emptyIdRanges(): IdRanges {
  return { traceStart: 0, traceEnd: 0, spanStart: 0, spanEnd: 0, parentStart: 0, parentEnd: 0 };
}

/** Marks all ids as absent, so that one object can be reused for every span or log record. */
export function resetIdRanges(ids: IdRanges): void {
  ids.traceStart = 0;
  ids.traceEnd = 0;
  ids.spanStart = 0;
  ids.spanEnd = 0;
  ids.parentStart = 0;
  ids.parentEnd = 0;
}

/** Returns the first invalid id of a protobuf span, or undefined if all are valid. */
export function idFault(bytes: Buffer, ids: IdRanges): ItemFault | undefined {
  if (!isId(bytes, ids.traceStart, ids.traceEnd, traceIdBytes))
    return { rule: idRules.traceId, value: shownBytes(bytes, ids.traceStart, ids.traceEnd) };
  if (!isId(bytes, ids.spanStart, ids.spanEnd, spanIdBytes))
    return { rule: idRules.spanId, value: shownBytes(bytes, ids.spanStart, ids.spanEnd) };
  if (ids.parentEnd - ids.parentStart !== spanIdBytes && !isZero(bytes, ids.parentStart, ids.parentEnd))
    return { rule: idRules.parentSpanId, value: shownBytes(bytes, ids.parentStart, ids.parentEnd) };
  return undefined;
}

/** Returns whether the bytes have the length of an id and are not all zero. */
export function isId(bytes: Buffer, start: number, end: number, length: number): boolean {
  return end - start === length && !isZero(bytes, start, end);
}

/** Returns whether all bytes in `[start, end)` are zero. True for an empty range. */
export function isZero(bytes: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if (bytes[index] !== 0) return false;
  return true;
}

function shownBytes(bytes: Buffer, start: number, end: number): string {
  if (start === end) return 'absent';
  const hex = bytes.toString('hex', start, Math.min(end, start + 20));
  return `${hex}${end - start > 20 ? '...' : ''} (length ${end - start})`;
}
