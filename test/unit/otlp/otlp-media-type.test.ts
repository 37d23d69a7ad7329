import * as zlib from 'node:zlib';
import { expect, it } from 'vitest';
import { readContentCoding, readEncoding } from '../../../src/otlp/media-type.ts';

it.each<[string | undefined, string | undefined]>([
  ['application/x-protobuf', 'protobuf'],
  ['Application/X-Protobuf; charset=binary', 'protobuf'],
  ['application/json', 'json'],
  ['APPLICATION/JSON;charset=UTF-8', 'json'],
  ['application/json ; charset="utf-8"; x=y', 'json'],
  ['application/json; charset=utf8', 'json'],
  ['application/json; charset=utf-16', undefined],
  ['application/json; charset=', undefined],
  ['application/json, application/json', undefined],
  ['application/jsonp', undefined],
  ['text/plain', undefined],
  ['', undefined],
  [undefined, undefined],
])('T2, T3: Content-Type %j asks for %s', (contentType, encoding) => {
  expect(readEncoding(contentType)).toBe(encoding);
});

it.each<[string | undefined, string | undefined]>([
  [undefined, 'identity'],
  ['', 'identity'],
  ['identity', 'identity'],
  ['GZIP', 'gzip'],
  [' x-gzip ', 'gzip'],
  ['deflate', 'deflate'],
  ['zstd', 'zstdDecompress' in zlib ? 'zstd' : undefined],
  ['br', undefined],
  ['gzip, gzip', undefined],
])('T5, T6: Content-Encoding %j is read as %s', (contentEncoding, coding) => {
  expect(readContentCoding(contentEncoding)).toBe(coding);
});
