import { afterEach, describe, expect, test } from 'vitest';
import type { BatchEntry } from '../../../src/domains/ingestion/store/span-batcher.ts';
import { RowsRefusedError, storeBatch } from '../../../src/domains/ingestion/store/store-batch.ts';
import { insertSpans } from '../../../src/domains/spans/index.ts';
import { connectClickHouse } from '../../../src/stores/clickhouse/client.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { encodedBody } from '../../support/encoded-body.ts';
import { type RefusingClickHouse, silence, startRefusingClickHouse } from '../../support/refusing-clickhouse.ts';
import { aSpan } from '../../support/spans.ts';

let engine: RefusingClickHouse | undefined;
afterEach(() => engine?.close());

/** Each with a span of that name, which an insert's bytes show. */
function entriesOf(...names: string[]): Promise<BatchEntry[]> {
  return Promise.all(names.map((name) => encodedBody([aSpan({ name })], { projectId: 'prj_1', workspaceId: 'wsp_1' })));
}

async function store(
  entries: readonly BatchEntry[],
  codeOf: (body: Buffer, nth: number) => number,
  message = 'Refused.',
  { stopping = new AbortController().signal, requestTimeoutMs = 20_000 } = {},
) {
  engine = await startRefusingClickHouse(codeOf, { message });
  const clickhouse = connectClickHouse(engine.url, { requestTimeoutMs });
  const logger = createLogger({ level: 'silent', name: 'test' });
  // What comes after the insert needs other engines.
  const kind = { insert: insertSpans, finish: async () => undefined };
  try {
    return await storeBatch({ clickhouse, logger, kind, stopping }, entries);
  } finally {
    await clickhouse.close();
  }
}

const refusing = (code: number) => (body: Buffer) => (body.includes('the culprit') ? code : 0);

describe('a batch', () => {
  test('of no bodies is stored', async () => {
    expect((await store([], () => 0)).size).toBe(0);
  });

  test('refused for its data is taken apart at once, and only the culprit fails', async () => {
    const entries = await entriesOf('a', 'the culprit', 'b');
    const errors = await store(entries, refusing(117));
    expect([...errors.keys()]).toEqual([entries[1]]);
    expect([...errors.values()][0]).toBeInstanceOf(RowsRefusedError);
    expect([...errors.values()][0]).toMatchObject({ isCertain: true });
    expect(engine?.answers).toEqual([117, 0, 117, 0]);
  });

  test('refused for what nobody knows is tried five times, then taken apart and each body twice, and only the culprit fails, which is not certain', async () => {
    const entries = await entriesOf('a', 'the culprit', 'b');
    const errors = await store(entries, refusing(1001));
    expect([...errors.keys()]).toEqual([entries[1]]);
    expect([...errors.values()][0]).toMatchObject({ isCertain: false });
    expect(engine?.answers).toEqual([...Array(5).fill(1001), 0, 1001, 1001, 0]);
  });

  test('that has no answer again and again is given back, so that others have the write slot', async () => {
    const stored = store(await entriesOf('a', 'b'), () => silence, '', { requestTimeoutMs: 1_000 });
    await expect(stored).rejects.toMatchObject({ kind: 'unavailable' });
    expect(engine?.answers).toEqual(Array(4).fill(silence));
  });

  test('that our own code cannot send fails after few tries, and its neighbors are stored', async () => {
    const [good, bad] = await entriesOf('a', 'b');
    if (good === undefined || bad === undefined) throw new Error('There are two');
    const broken = { ...bad, encoded: { ...bad.encoded, rows: null as never } };
    const errors = await store([good, broken], () => 0);
    expect([...errors.keys()]).toEqual([broken]);
    expect(engine?.answers).toEqual([0]);
  });

  test('that a shard is killed under is sent again, and no body fails', async () => {
    const said =
      'Attempt to read after eof: while receiving packet from 127.0.0.1:9000: Insertion status:\nWrote 1 blocks.';
    const entries = await entriesOf('a', 'b');
    expect((await store(entries, (_body, nth) => (nth === 0 ? 32 : 0), said)).size).toBe(0);
    expect(engine?.answers).toEqual([32, 0]);
  });

  test('that waits for the next try ends with the reason of the stop when the worker stops', async () => {
    const stopping = new AbortController();
    const refuse = () => {
      // The client has the answer by then, and waits 100 ms before the next try.
      setTimeout(() => stopping.abort(new Error('The worker stops')), 50);
      return 279;
    };
    await expect(store(await entriesOf('a'), refuse, 'Refused.', { stopping: stopping.signal })).rejects.toThrow(
      'The worker stops',
    );
  });

  test('that a shard is unavailable for is waited with, whatever else it holds', async () => {
    const entries = await entriesOf('a', 'b');
    expect((await store(entries, (_body, nth) => (nth < 6 ? 279 : 0))).size).toBe(0);
    expect(engine?.answers).toEqual([...Array(6).fill(279), 0]);
  });

  test('that the server has no memory for is waited with: it says nothing of the rows', async () => {
    const said = '(total) memory limit exceeded: would use 3.9 GiB, maximum: 3.6 GiB.';
    const entries = await entriesOf('a', 'b');
    expect((await store(entries, (_body, nth) => (nth < 6 ? 241 : 0), said)).size).toBe(0);
    expect(engine?.answers).toEqual([...Array(6).fill(241), 0]);
  });

  test.each([
    ['takes too long', 159, 'Timeout exceeded: elapsed 15.1 s, maximum: 15 s.'],
    ['takes too much memory itself', 241, 'Query memory limit exceeded: would use 2.1 GiB, maximum: 1.86 GiB.'],
  ])('that %s is taken apart, and what one body has then is not certain', async (_what, code, said) => {
    const entries = await entriesOf('a', 'the culprit', 'b');
    const errors = await store(entries, refusing(code), said);
    expect([...errors.keys()]).toEqual([entries[1]]);
    expect([...errors.values()][0]).toMatchObject({ isCertain: false });
    expect(engine?.answers).toEqual([...Array(4).fill(code), 0, code, code, 0]);
  });
});
