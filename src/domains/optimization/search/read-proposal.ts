import { z } from 'zod';
import { parseJson, parseJsonWithin } from '../metrics/texts.ts';

/** What a reflection model proposes. */
export interface Proposal {
  template: string;
  hypothesis: string | null;
}

const reply = z.object({ template: z.string().min(1), hypothesis: z.string().catch('') });
const hypothesisCharsMax = 1_000;

/** Reads JSON `{"hypothesis", "template"}`, also in a fence or within text, or else a fenced template. */
export function readProposal(text: string): Proposal | undefined {
  const block = firstFenced(text);
  for (const value of [parseJson(text), parseJsonWithin(text), parseJson(block?.content ?? '')]) {
    const parsed = reply.safeParse(value);
    if (!parsed.success || parsed.data.template.trim() === '') continue;
    const { template, hypothesis } = parsed.data;
    return { template, hypothesis: hypothesis === '' ? null : hypothesis.slice(0, hypothesisCharsMax) };
  }
  if (block === undefined || block.language === 'json') return undefined;
  return { template: block.content, hypothesis: block.before.trim().slice(0, hypothesisCharsMax) };
}

interface Block {
  before: string;
  language: string;
  content: string;
}

/** Returns the first fenced block and the text before it. A fence ends with as many ticks. */
function firstFenced(text: string): Block | undefined {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => /^\s{0,3}`{3,}[^`]*$/.test(line));
  const [, ticks = '', language = ''] = /(`{3,})([^`]*)/.exec(lines[start] ?? '') ?? [];
  const end = lines.findIndex((line, at) => at > start && line.trim() === ticks);
  const content = lines
    .slice(start + 1, end)
    .join('\n')
    .trim();
  if (start < 0 || end < 0 || content === '') return undefined;
  return { before: lines.slice(0, start).join('\n'), language: language.trim(), content };
}
