/** One request as it goes over the wire. */
export interface FuzzRequest {
  /** Of the operation that it is about, which need not be the one that answers it. */
  operationId: string;
  method: string;
  /** Path and query, encoded. */
  target: string;
  headers: Readonly<Record<string, string>>;
  body?: Buffer;
  /** Sends the body in two chunks without saying its length. */
  chunked?: boolean;
  /** The path and the method are those of the operation, so its contract says how it may be answered. */
  routed: boolean;
  /** Names something of the other workspace, so that success would be a breach. */
  foreign?: boolean;
}

/** As `encodeURIComponent`, for any text: a lone surrogate becomes the three bytes that UTF-8 would have for it. */
export function percentEncoded(text: string): string {
  let encoded = '';
  for (const character of text)
    encoded += loneSurrogate.test(character) ? surrogateEncoded(character) : encodeURIComponent(character);
  return encoded;
}

/** A pair is one character of `for … of`. */
const loneSurrogate = /^[\ud800-\udfff]$/;

function surrogateEncoded(character: string): string {
  const code = character.charCodeAt(0);
  const bytes = [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];
  return bytes.map((byte) => `%${byte.toString(16)}`).join('');
}

/** What Node sends in a header: anything else is a fault of the sender, not a test of the receiver. */
export function headerText(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?').slice(0, 20_000);
}
