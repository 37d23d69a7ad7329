/** One request as it is sent. */
export interface FuzzRequest {
  /** The operation that the request was created for. A faulty path or method can lead to another one. */
  operationId: string;
  method: string;
  /** Path and query, encoded. */
  target: string;
  headers: Readonly<Record<string, string>>;
  body?: Buffer;
  /** Sends the body in two chunks without Content-Length. */
  chunked?: boolean;
  /** Whether path and method are those of the operation. Then its contract determines the response. */
  routed: boolean;
  /** Whether the path names a resource of the other workspace. Then success is a fault. */
  foreign?: boolean;
}

/**
 * Like `encodeURIComponent`, for any text. A lone surrogate becomes the three bytes that a simple
 * encoding to UTF-8 gives.
 */
export function percentEncoded(text: string): string {
  let encoded = '';
  for (const character of text)
    encoded += loneSurrogate.test(character) ? surrogateEncoded(character) : encodeURIComponent(character);
  return encoded;
}

/** `for … of` returns a pair of surrogates as one character, so this matches only lone ones. */
const loneSurrogate = /^[\ud800-\udfff]$/;

function surrogateEncoded(character: string): string {
  const code = character.charCodeAt(0);
  const bytes = [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];
  return bytes.map((byte) => `%${byte.toString(16)}`).join('');
}

/** Replaces the characters that Node does not send in a header. */
export function headerText(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?').slice(0, 20_000);
}
