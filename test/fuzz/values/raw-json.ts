const mark = '\u{F8FF}raw:';
const marked = new RegExp(`"${mark}([^"]*)"`, 'gu');

/** JSON text that `JSON.stringify` cannot write, such as `1e400`. Only {@link toJsonText} writes it. */
export class RawJson {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toJSON(): string {
    return mark + encodeURIComponent(this.#text);
  }
}

/**
 * Like `JSON.stringify`, but writes every {@link RawJson} unchanged. Lone surrogates become
 * escapes, and `undefined` becomes `null`.
 */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.replaceAll(marked, (_, raw: string) => decodeURIComponent(raw));
}
