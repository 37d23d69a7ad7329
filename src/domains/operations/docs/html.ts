/** Markup that is safe to insert into a page unchanged. */
export interface Html {
  readonly markup: string;
}

type Piece = Html | string | number | undefined | readonly Piece[];

/**
 * Builds markup. Escapes every value that is not markup itself, joins lists, and omits undefined.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Html {
  return { markup: strings.map((text, index) => text + toMarkup(values[index])).join('') };
}

/** Converts description text to markup. Text in backticks becomes `code`. */
export function prose(text: string): Html {
  const parts = text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
  return html`${parts}`;
}

function toMarkup(piece: Piece): string {
  if (piece === undefined) return '';
  if (typeof piece === 'string' || typeof piece === 'number') return escapeText(String(piece));
  return 'markup' in piece ? piece.markup : piece.map(toMarkup).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
