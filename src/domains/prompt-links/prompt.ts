import { hashOfTemplateKey } from '../../lib/template-hash.ts';

/** A reference to a prompt, which may not exist. */
export interface PromptMention {
  /** The prompt's id once it is known, otherwise ''. */
  id: string;
  /** The name as given. It can also be an id or a slug. */
  name: string;
  /** 0 when it is not a number. */
  version: number;
  /**
   * Searched for before the name while the prompt is unknown: an id as it was sent, or the
   * `templateKey` of a template.
   */
  key: string;
}

/** The prompt of a span. */
export interface SpanPrompt extends PromptMention {
  rawVersion: string;
  /**
   * `self` when the span names a prompt, `template_match` when it has only a template text,
   * `inherited` when a span above names it.
   */
  source: string;
}

/** The fields of an existing prompt that linking needs. */
export interface KnownPrompt {
  id: string;
  slug: string;
  /**
   * Versions with the template text that it was found by, newest first. Empty when it was found
   * otherwise.
   */
  versions: readonly number[];
}

/**
 * Returns the id of a mention's prompt: the known id, or else the id that was sent. '' when there
 * is neither.
 */
export function statedPromptId({ id, name, key }: Pick<PromptMention, 'id' | 'name' | 'key'>): string {
  if (id !== '') return id;
  if (key !== '' && hashOfTemplateKey(key) === undefined) return key;
  return name.startsWith('prm_') ? name : '';
}

/**
 * The managed prompt that a span names, before it is looked up. `rawVersion` is the version as
 * sent; `version` is 0 when that is not a number.
 */
export interface PromptRef {
  /** As sent, or the key of a template text. */
  id: string;
  name: string;
  version: number;
  rawVersion: string;
  /**
   * `self` when the span names a prompt, `template_match` when it can be found only by a template
   * text.
   */
  source: string;
  /** The other prompts after this one, if the span lists several. */
  others?: readonly PromptRef[];
}

/**
 * Converts the prompt reference of a span to a mention that has not been looked up. An id without a
 * name is treated as a name until the project is found to have that prompt.
 */
export function promptMention(ref: PromptRef | null): SpanPrompt | null {
  if (ref === null) return null;
  const { id, name, version, rawVersion, source } = ref;
  const isName = name === '' && source !== 'template_match';
  return { id: '', name: isName ? id : name, key: isName ? '' : id, version, rawVersion, source };
}
