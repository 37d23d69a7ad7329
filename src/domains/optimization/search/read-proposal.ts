import { z } from 'zod';

/** What a reflection model proposes. */
export interface Proposal {
  template: string;
  hypothesis: string | null;
}

const reply = z.object({ template: z.string().min(1), hypothesis: z.string().catch('') });
const hypothesisCharsMax = 1_000;

/** Reads JSON `{"hypothesis", "template"}`, also in a fence or within text, or else a fenced template. */
export function readProposal(text: string): Proposal | undefined {
  for (const json of [text, /```(?:json)?\s*\n([\s\S]*)\n\s*```/.exec(text)?.[1], /\{[\s\S]*\}/.exec(text)?.[0]]) {
    const parsed = reply.safeParse(json === undefined ? undefined : parse(json));
    if (parsed.success && parsed.data.template.trim() !== '') {
      const { template, hypothesis } = parsed.data;
      return { template, hypothesis: hypothesis === '' ? null : hypothesis.slice(0, hypothesisCharsMax) };
    }
  }
  const fence = /(`{3,})(?!json\b)[^\n`]*\n([\s\S]*?)\n\1/.exec(text);
  const template = fence?.[2]?.trim() ?? '';
  return template === ''
    ? undefined
    : { template, hypothesis: text.slice(0, fence?.index).trim().slice(0, hypothesisCharsMax) };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
