import { describe, expect, it } from 'vitest';
import { isRecentEnough, parseRedisVersion } from '../../../dev/redis/binary.ts';

describe('parseRedisVersion', () => {
  it.each([
    ['Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=4a8b', '7.0.15'],
    ['Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=4a8b', '8.1.1'],
    ['command not found', undefined],
  ])('of %j is %s', (output, version) => {
    expect(parseRedisVersion(output)).toBe(version);
  });
});

describe('isRecentEnough', () => {
  it.each(['6.2.0', '6.10.1', '7.0.15', '10.0.0'])('accepts %s', (version) => {
    expect(isRecentEnough(version)).toBe(true);
  });
  it.each(['6.0.16', '5.9.9', '3.2.12'])('refuses %s', (version) => {
    expect(isRecentEnough(version)).toBe(false);
  });
});
