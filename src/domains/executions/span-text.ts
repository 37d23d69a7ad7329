import type { Pace } from '../../lib/pace.ts';
import type { SpanPrompt } from '../prompt-links/index.ts';
import { partNames, type SpanDetail, type SpanPart } from '../spans/reads.ts';
import { requireSmallPart } from './large-parts.ts';
import type { ShownPart } from './read-logs.ts';
import { spanHeadToWire } from './span.schema.ts';
import { attributesText, type PartOwners, partText } from './span-parts.schema.ts';

/** A span part that is too long to be answered within its span. */
export interface LargePart {
  part: ShownPart;
  /** Length of its JSON text in UTF-16 units. */
  chars: number;
  /** The beginning of its JSON text. */
  preview: string;
}

export interface SpanTextOptions {
  include: ReadonlySet<ShownPart>;
  /** Span parts with more UTF-16 units of JSON text are only listed in `large_parts`. */
  partCharsMax: number;
  owners: PartOwners;
  /** Whether large parts may be converted in this thread. */
  large: boolean;
  /** Reads the JSON text of a span part that was too large to be read with its row. */
  readPart: (spanId: string, part: SpanPart) => Promise<string>;
  /** Gives other work its time between the parts of all spans of an answer. */
  pace: Pace;
  /** The log records of the span as JSON text, where they are included. */
  logs?: string;
}

const previewChars = 200;

/**
 * Returns a span as JSON text. Converts one span part at a time and yields between them, so that
 * the event loop is never blocked for longer than one part takes.
 * @throws LargePartError when `large` is false and a part is too large
 * @throws what `readPart` throws
 */
export async function spanToText(
  row: SpanDetail,
  prompt: SpanPrompt | null,
  { include, partCharsMax, owners, large, readPart, pace, logs = '[]' }: SpanTextOptions,
): Promise<string> {
  const members: string[] = [];
  const largeParts: LargePart[] = [];
  const show = (part: ShownPart, text: string): boolean => {
    const isLarge = text.length > partCharsMax;
    if (isLarge) largeParts.push({ part, chars: text.length, preview: textSlice(text, 0, previewChars).text });
    else members.push(`${JSON.stringify(part)}:${text}`);
    return !isLarge;
  };
  for (const part of partNames) {
    if (!include.has(part)) continue;
    await pace.rest();
    if (!large) requireSmallPart(row, part);
    const typed = part === 'attributes' ? attributesText(row) : undefined;
    const text = row.cut.includes(part)
      ? await readPart(row.spanId, part)
      : (typed?.attributes ?? partText(row, part, owners));
    const isShown = show(part, text);
    if (isShown && typed !== undefined) members.push(`"attribute_types":${typed.types}`);
  }
  if (include.has('logs')) show('logs', logs);
  const head = JSON.stringify({ ...spanHeadToWire(row, prompt), large_parts: largeParts });
  return `${head.slice(0, -1)}${members.map((member) => `,${member}`).join('')}}`;
}

/**
 * Returns up to `limit` UTF-16 units of a text from `offset` on. A surrogate pair is never split: a
 * slice that would begin or end inside a pair begins or ends before it. If that would leave the
 * slice empty, it includes the pair.
 */
export function textSlice(text: string, offset: number, limit: number): { text: string; offset: number; end: number } {
  const start = isWithinPair(text, offset) ? offset - 1 : Math.min(offset, text.length);
  const stop = Math.min(start + limit, text.length);
  const end = isWithinPair(text, stop) ? (stop - 1 > start ? stop - 1 : stop + 1) : stop;
  return { text: text.slice(start, end), offset: start, end };
}

function isWithinPair(text: string, index: number): boolean {
  const [high, low] = [text.charCodeAt(index - 1), text.charCodeAt(index)];
  return high >= 0xd800 && high <= 0xdbff && low >= 0xdc00 && low <= 0xdfff;
}
