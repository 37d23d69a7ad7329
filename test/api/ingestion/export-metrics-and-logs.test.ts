import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../../support/api.ts';
import { contentTypes, decodeStatus } from '../../support/traces.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const cases = ['metrics', 'logs'].flatMap((signal) =>
  (['protobuf', 'json'] as const).map((encoding) => ({ signal, encoding })),
);

describe('404', () => {
  test.each(cases)('$signal in $encoding are refused with a Status in the same encoding', async (given) => {
    const response = await fetch(`${api.url}/api/v1/${given.signal}`, {
      method: 'POST',
      headers: { 'Content-Type': contentTypes[given.encoding] },
      body: Buffer.alloc(100_000),
    });
    const status = decodeStatus(given.encoding, Buffer.from(await response.arrayBuffer()));
    expect([response.status, response.headers.get('content-type')]).toEqual([404, contentTypes[given.encoding]]);
    expect(status).toMatchObject({ code: 12, message: expect.stringContaining(given.signal) });
    expect(response.headers.get('retry-after')).toBeNull();
  });
});
