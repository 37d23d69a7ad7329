/** Markup that is safe to insert. Only {@link html} makes it. */
export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

export type HtmlValue = Html | string | number | null | undefined | readonly HtmlValue[];

/**
 * Returns markup with the values inserted: texts escaped, {@link Html} as it is, lists one after the
 * other. Every attribute value must have quotes.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.map((text, index) => text + markupOf(values[index])).join(''));
}

/** Returns the beginning of a text, and whether it was cut. Never splits a surrogate pair. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return `${text.slice(0, charsMax).replace(/[\ud800-\udbff]$/, '')}… (${text.length} characters)`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function markupOf(value: HtmlValue): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Html) return value.markup;
  if (typeof value === 'object') return value.map(markupOf).join('');
  return escaped(String(value));
}

/** Characters that HTML does not allow, and those that change the direction of the text around them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const invisible = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Shows what cannot be seen by its code, so that a text cannot look like another one. */
function escaped(text: string): string {
  return text
    .replace(invisible, (character) => `[U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`)
    .replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
