import { templateHash } from '../../lib/template-hash.ts';

/** A prompt as somebody refers to it who need not know whether it exists. */
export interface PromptMention {
  /** The prompt's id once it is known, else ''. */
  id: string;
  /** As it was given; ids and slugs are taken for names. */
  name: string;
  /** 0 when it is not a number. */
  version: number;
  /** Looked for before the name while the prompt is not known: an id as it was sent, or a template's {@link templateKey}. */
  key: string;
}

/** What a span says of its prompt. */
export interface SpanPrompt extends PromptMention {
  rawVersion: string;
  /** `self` when the span names a prompt, `template_match` when it has only a text, `inherited` when a span above says it. */
  source: string;
}

/** What linking needs of a prompt that exists. */
export interface KnownPrompt {
  id: string;
  slug: string;
  /** Those with the text that it was found by, newest first; empty when it was found otherwise. */
  versions: readonly number[];
}

const templatePrefix = 'sha256:';

/** A template's text as something to look for. */
export function templateKey(template: string): string {
  return templatePrefix + templateHash(template);
}

/** The id of a mention's prompt: the known one, else the one that was sent with it; '' when there is neither. */
export function statedPromptId({ id, name, key }: Pick<PromptMention, 'id' | 'name' | 'key'>): string {
  if (id !== '') return id;
  if (key !== '' && hashOfTemplateKey(key) === undefined) return key;
  return name.startsWith('prm_') ? name : '';
}

/** The hash within a {@link templateKey}; undefined for anything else. */
export function hashOfTemplateKey(key: string): string | undefined {
  return key.startsWith(templatePrefix) ? key.slice(templatePrefix.length) : undefined;
}

/** The managed prompt a span says it used, not yet looked up. `version` is 0 when it is not a number; `rawVersion` is what was sent. */
export interface PromptRef {
  /** As sent, or the key of a template's text. */
  id: string;
  name: string;
  version: number;
  rawVersion: string;
  /** `self` when the span names a prompt, `template_match` when only a template text can find it. */
  source: string;
  /** Where the span lists several prompts, those after this one, as each was named. */
  others?: readonly PromptRef[];
}
