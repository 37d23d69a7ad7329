import * as zlib from 'node:zlib';

export type OtlpEncoding = 'protobuf' | 'json';
export type ContentCoding = 'identity' | 'gzip' | 'deflate' | 'zstd';

const encodings: ReadonlyMap<string, OtlpEncoding> = new Map([
  ['application/x-protobuf', 'protobuf'],
  ['application/json', 'json'],
]);

/** Node supports zstd since 22.15. */
const codings: ReadonlyMap<string, ContentCoding> = new Map<string, ContentCoding>([
  ['', 'identity'],
  ['identity', 'identity'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ...('zstdDecompress' in zlib ? ([['zstd', 'zstd']] as const) : []),
]);

/**
 * Returns the encoding for a Content-Type; undefined (HTTP 415) for any other type, and for JSON
 * that is not UTF-8.
 */
export function readEncoding(contentType: string | undefined): OtlpEncoding | undefined {
  if (contentType === undefined) return undefined;
  const [type = '', ...parameters] = contentType.split(';', 64);
  const encoding = encodings.get(type.trim().toLowerCase());
  return encoding === 'json' && !parameters.every(isUtf8OrOther) ? undefined : encoding;
}

/**
 * Returns the content coding of the body; undefined (HTTP 415) for an unknown coding or several
 * codings.
 */
export function readContentCoding(contentEncoding: string | undefined): ContentCoding | undefined {
  return codings.get((contentEncoding ?? '').trim().toLowerCase());
}

function isUtf8OrOther(parameter: string): boolean {
  const [name = '', value = ''] = parameter.split('=');
  if (name.trim().toLowerCase() !== 'charset') return true;
  return /^\s*"?utf-?8"?\s*$/i.test(value);
}
