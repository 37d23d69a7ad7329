import { describe, expect, test } from 'vitest';
import { encodeLogs } from '../../../src/domains/log-records/encode-logs.ts';
import { blankLogRecord, blankResource, blankScope } from '../../../src/otlp/blank.ts';
import type { LogRecord } from '../../../src/otlp/log-record.ts';
import { newSpanId, newTraceId } from '../../support/spans.ts';

const ids = { traceId: newTraceId(), spanId: newSpanId() };
const line = { ...ids, severityNumber: 9, body: 'a line' };
const message = { ...ids, eventName: 'gen_ai.user.message', body: 'a question' };

async function encode(records: Partial<LogRecord>[], keepOther = true) {
  const all = records.map((record) => ({ ...blankLogRecord(blankResource(), blankScope()), ...record }));
  const sent = { projectId: 'prj_1', receivedAtMs: 1, retentionDays: 0, body: Buffer.from('a body') };
  const { rowCount, outcomes } = await encodeLogs({ ...sent, records: all, keepOther });
  return { rowCount, outcomes };
}

describe('of the records of a request', () => {
  test('messages and lines of a span are kept', async () => {
    expect(await encode([message, line])).toEqual({ rowCount: 2, outcomes: { content: 1, event: 1 } });
  });
  test('lines are dropped where only GenAI records are wanted', async () => {
    expect(await encode([message, line], false)).toEqual({ rowCount: 1, outcomes: { content: 1, dropped_level: 1 } });
  });
  test('lines of DEBUG are dropped, messages of any severity are not', async () => {
    const quiet = { severityNumber: 5 };
    const found = await encode([
      { ...line, ...quiet },
      { ...message, ...quiet },
    ]);
    expect(found).toEqual({ rowCount: 1, outcomes: { dropped_level: 1, content: 1 } });
  });
  test('those without a span are dropped, except evaluations of a trace', async () => {
    const ofTrace = { traceId: ids.traceId, eventName: 'gen_ai.evaluation.result' };
    const found = await encode([{ ...message, spanId: '' }, { ...ofTrace, traceId: '' }, ofTrace]);
    expect(found).toEqual({ rowCount: 1, outcomes: { dropped_no_span: 2, content: 1 } });
  });
  test('a line over 16 KiB is counted on its span', async () => {
    const found = await encode([{ ...line, body: 'x'.repeat(20_000) }]);
    expect(found).toEqual({ rowCount: 1, outcomes: { dropped_limit: 1 } });
  });
  test('an empty one leaves nothing', async () => {
    expect(await encode([{}])).toEqual({ rowCount: 0, outcomes: {} });
  });
});
