import { expect, test } from 'vitest';
import { UnknownRecords } from '../../../src/domains/auth/unknown-records.ts';
import { RateLimitedError } from '../../../src/lib/errors.ts';

/** A look-up that finds nothing and counts itself. */
function countedMiss() {
  const counts = { running: 0, most: 0, all: 0 };
  const look = async () => {
    counts.all += 1;
    counts.most = Math.max(counts.most, ++counts.running);
    await new Promise((resolve) => setImmediate(resolve));
    counts.running -= 1;
    return undefined;
  };
  return { counts, look };
}

test('keys that do not exist, a thousand at once from one address: one look-up at a time, most are refused without', async () => {
  const unknownKeys = new UnknownRecords<string>('API keys', 64);
  const { counts, look } = countedMiss();
  const results = await Promise.allSettled(
    Array.from({ length: 1_000 }, (_, key) => unknownKeys.find(`key${key}`, '203.0.113.9', look)),
  );
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  expect(counts).toMatchObject({ most: 1, all: 65 });
  expect(refused).toHaveLength(935);
  expect(refused.every((error) => error instanceof RateLimitedError && error.code === 'rate_limited')).toBe(true);
});

test('keys from a hundred addresses at once: two look-ups at a time', async () => {
  const unknownKeys = new UnknownRecords<string>('API keys', 64);
  const { counts, look } = countedMiss();
  await Promise.all(
    Array.from({ length: 100 }, (_, index) => unknownKeys.find(`key${index}`, `203.0.113.${index}`, look)),
  );
  expect(counts).toMatchObject({ most: 2, all: 100 });
});

test('a key of another address is found before those that wait of the first', async () => {
  const unknownKeys = new UnknownRecords<string>('API keys', 64);
  const { counts, look } = countedMiss();
  const flood = Promise.allSettled(
    Array.from({ length: 60 }, (_, key) => unknownKeys.find(`key${key}`, '203.0.113.9', look)),
  );
  await expect(unknownKeys.find('good', '203.0.113.8', async () => 'record')).resolves.toBe('record');
  expect(counts.all).toBeLessThan(10);
  await flood;
});

test('a thousand requests with one new key at once: one look-up, and none is refused', async () => {
  const unknownKeys = new UnknownRecords<string>('API keys', 64);
  const { counts, look } = countedMiss();
  await Promise.all(Array.from({ length: 1_000 }, () => unknownKeys.find('same', '203.0.113.9', look)));
  expect(counts.all).toBe(1);
});

test('one project that two users ask for: neither waits behind what the other asked for before', async () => {
  const unknownProjects = new UnknownRecords<string>('projects', 512);
  const { counts, look } = countedMiss();
  const flood = Promise.allSettled(
    ['other-1', 'other-2', 'other-3', 'theirs'].map((id) => unknownProjects.find(id, 'usr_hostile', look)),
  );
  await expect(unknownProjects.find('theirs', 'usr_victim', async () => 'record')).resolves.toBe('record');
  expect(counts.all).toBeLessThan(4);
  await flood;
});

test('two users with as many unknown projects as may wait: a third is not refused', async () => {
  const unknownProjects = new UnknownRecords<string>('projects', 16);
  const { look } = countedMiss();
  const flood = Promise.allSettled(
    ['usr_1', 'usr_2'].flatMap((user) =>
      Array.from({ length: 17 }, (_, index) => unknownProjects.find(`${user}-${index}`, user, look)),
    ),
  );
  await expect(unknownProjects.find('theirs', 'usr_3', async () => 'record')).resolves.toBe('record');
  await flood;
});
