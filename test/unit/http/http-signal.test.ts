import { expect, test } from 'vitest';
import { endpoint } from '../../../src/http/endpoint.ts';
import { serve } from '../../support/http-app.ts';

test("a handler's signal is aborted when its client goes away, and not before", async () => {
  let start: (signal: AbortSignal) => void = () => undefined;
  const started = new Promise<AbortSignal>((resolve) => {
    start = resolve;
  });
  const never = endpoint({
    operationId: 'wait',
    method: 'GET',
    path: '/wait',
    summary: '',
    tag: '',
    access: { open: true },
    rateClass: 'none',
    responses: { 204: { description: 'gone' } },
    handle: async ({ signal }) => {
      start(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { status: 204 };
    },
  });
  const app = await serve([never], { authorize: async () => undefined });
  try {
    const client = new AbortController();
    const answer = fetch(`${app.url}/wait`, { signal: client.signal });
    const signal = await started;
    expect(signal.aborted).toBe(false);
    client.abort();
    await expect(answer).rejects.toThrow(/abort/);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve());
    });
  } finally {
    await app.close();
  }
});
