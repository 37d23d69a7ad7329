import { oneTurn, Pace } from '../../lib/pace.ts';
import type { SpanPrompt } from '../prompt-links/index.ts';
import { partNames, type SpanDetail, type SpanPart } from '../spans/index.ts';
import { spanHeadToWire } from './span.schema.ts';
import { attributesText, type PartOwners, partText } from './span-parts.schema.ts';

/** A part that is not given out with its span. */
export interface LargePart {
  part: SpanPart;
  /** Of its JSON text, in UTF-16 units. */
  chars: number;
  /** How the text begins. */
  preview: string;
}

export interface SpanTextOptions {
  include: ReadonlySet<SpanPart>;
  /** Parts whose JSON text is longer are named in `large_parts` instead, in UTF-16 units. */
  partCharsMax: number;
  owners: PartOwners;
  /** The JSON text of a part that was too large to come with its row. */
  readPart: (spanId: string, part: SpanPart) => Promise<string>;
}

const previewChars = 200;

/**
 * A span as JSON text, its parts one by one, so that no piece of work is longer than one part takes. Rejects as `readPart` does.
 */
export async function spanToText(
  row: SpanDetail,
  prompt: SpanPrompt | null,
  { include, partCharsMax, owners, readPart }: SpanTextOptions,
): Promise<string> {
  const pace = new Pace(oneTurn);
  const members: string[] = [];
  const largeParts: LargePart[] = [];
  for (const part of partNames) {
    if (!include.has(part)) continue;
    await pace.rest();
    const typed = part === 'attributes' ? attributesText(row) : undefined;
    const text = row.cut.includes(part)
      ? await readPart(row.id, part)
      : (typed?.attributes ?? partText(row, part, owners));
    if (text.length > partCharsMax) {
      largeParts.push({ part, chars: text.length, preview: textSlice(text, 0, previewChars).text });
      continue;
    }
    members.push(`${JSON.stringify(part)}:${text}`);
    if (typed !== undefined) members.push(`"attribute_types":${typed.types}`);
  }
  const head = JSON.stringify({ ...spanHeadToWire(row, prompt), large_parts: largeParts });
  return `${head.slice(0, -1)}${members.map((member) => `,${member}`).join('')}}`;
}

/**
 * `limit` UTF-16 units of a text from `offset` on. A pair of surrogates is never taken apart: a slice that would begin within one
 * begins before it, and one that would end within one ends before it, unless it would be empty then.
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
