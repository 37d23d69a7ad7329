/** Markup that is safe to put into a page as it is. */
export interface Html {
  readonly markup: string;
}

type Piece = Html | string | number | undefined | readonly Piece[];

/** Markup with every value escaped, unless it is markup itself; lists are joined, undefined is nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Html {
  return { markup: strings.map((text, index) => text + toMarkup(values[index])).join('') };
}

/** Text with `code` in backticks, as descriptions are written. */
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
