import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeLogs } from '../../../src/otlp/decode-logs.ts';
import { defaultOtlpLimits } from '../../../src/otlp/limits.ts';
import { scanBody, scanLogs } from '../../../src/otlp/scan.ts';
import {
  type Attributed,
  anyValue,
  attributed,
  CapturedBodies,
  type Resourced,
  resourced,
  type Scoped,
  scoped,
  type Value,
} from '../../support/captured-bodies.ts';

interface SentRecord extends Attributed {
  timeUnixNano?: string;
  observedTimeUnixNano?: string;
  severityNumber?: number;
  severityText?: string;
  body?: Value;
  flags?: number;
  traceId?: string;
  spanId?: string;
  eventName?: string;
}

interface Request {
  resourceLogs: (Resourced & { scopeLogs: (Scoped & { logRecords: SentRecord[] })[] })[];
}

const captures = new CapturedBodies(join(import.meta.dirname, '../../fixtures/log-captures'));
const bodies = captures.of('logs');

describe('OTLP captures of clients that send logs', () => {
  it.each(bodies)('%s: every field is decoded as the independent decode has it', (name) => {
    const { encoding, bytes } = captures.read(name);
    const expected = expectedRecords(captures.decoded<Request>(name));
    expect(expected.length).toBeGreaterThan(0);
    expect(decodeLogs(encoding, bytes, defaultOtlpLimits)).toEqual(expected);
  });

  it.each(bodies)('%s: the scan accepts every record without a warning', (name) => {
    const { encoding, bytes } = captures.read(name);
    const { length } = decodeLogs(encoding, bytes, defaultOtlpLimits);
    expect(scanLogs(encoding, bytes, defaultOtlpLimits)).toMatchObject({
      accepted: length,
      rejected: 0,
      reasons: [],
      warnings: [],
    });
  });

  it('the manifest counts the records of each client as the scan does', () => {
    const manifest = captures.manifest<{ logs: { records_received: number } }>();
    const counted: Record<string, number> = {};
    for (const name of bodies) {
      const client = name.split('/')[0] ?? '';
      const { encoding, bytes } = captures.read(name);
      counted[client] = (counted[client] ?? 0) + scanLogs(encoding, bytes, defaultOtlpLimits).accepted;
    }
    expect(counted).toEqual(Object.fromEntries(Object.entries(manifest).map(([k, v]) => [k, v.logs.records_received])));
  });

  it.each(bodies)('L5: %s sent as traces is refused with the path for logs', (name) => {
    const { encoding, bytes } = captures.read(name);
    expect(() => scanBody('traces', encoding, bytes, defaultOtlpLimits)).toThrow('; send logs to /api/v1/logs');
  });

  it.each(captures.of('traces'))('L5: %s sent as logs is refused with the path for traces', (name) => {
    const { encoding, bytes } = captures.read(name);
    expect(() => scanBody('logs', encoding, bytes, defaultOtlpLimits)).toThrow('; send traces to /api/v1/traces');
  });

  it.each(captures.of('metrics'))('L5: %s sent as logs is refused with the path for metrics', (name) => {
    const { encoding, bytes } = captures.read(name);
    expect(() => scanBody('logs', encoding, bytes, defaultOtlpLimits)).toThrow('metrics to /api/v1/metrics');
  });
});

function expectedRecords(request: Request) {
  return request.resourceLogs.flatMap((group) =>
    group.scopeLogs.flatMap((inner) =>
      inner.logRecords.map((record) => ({ ...resourced(group), ...scoped(inner), ...expectedRecord(record) })),
    ),
  );
}

function expectedRecord(record: SentRecord) {
  const named = record.attributes?.find(({ key }) => key === 'event.name')?.value?.stringValue;
  return {
    traceId: record.traceId ?? '',
    spanId: record.spanId ?? '',
    timeUnixNano: BigInt(record.timeUnixNano ?? 0),
    observedUnixNano: BigInt(record.observedTimeUnixNano ?? 0),
    eventName: record.eventName || named || '',
    severityNumber: record.severityNumber ?? 0,
    severityText: record.severityText ?? '',
    body: anyValue(record.body ?? {}),
    ...attributed(record),
    flags: record.flags ?? 0,
    warnings: [],
  };
}
