import { describe, expect, it } from 'vitest';
import { encodeExportResponse, encodeStatus } from '../../../src/otlp/response.ts';
import {
  BadRequest,
  ExportLogsServiceResponse,
  ExportTraceServiceResponse,
  RpcStatus,
} from '../../support/otlp-proto.ts';

const bodyBytesMax = 4 * 1024 * 1024;

describe('OTLP export response', () => {
  it('S1, S5: nothing to say is zero bytes in protobuf and {} in JSON', () => {
    const outcome = { rejected: 0, message: '' };
    expect(encodeExportResponse('traces', 'protobuf', outcome)).toHaveLength(0);
    expect(encodeExportResponse('traces', 'json', outcome).toString()).toBe('{}');
  });

  it('S3: rejected spans are counted, with the reasons', () => {
    const outcome = { rejected: 2, message: '2 spans: spanId' };
    expect(partialSuccess(encodeExportResponse('traces', 'protobuf', outcome))).toEqual({
      rejectedSpans: '2',
      errorMessage: '2 spans: spanId',
    });
    expect(encodeExportResponse('traces', 'json', outcome).toString()).toBe(
      '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"2 spans: spanId"}}',
    );
  });

  it('L2: rejected log records are counted, with the reasons', () => {
    const outcome = { rejected: 2, message: '2 log records: time' };
    const sent = ExportLogsServiceResponse.decode(encodeExportResponse('logs', 'protobuf', outcome));
    expect(ExportLogsServiceResponse.toObject(sent, { longs: String })).toEqual({
      partialSuccess: { rejectedLogRecords: '2', errorMessage: '2 log records: time' },
    });
    expect(encodeExportResponse('logs', 'json', outcome).toString()).toBe(
      '{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"2 log records: time"}}',
    );
  });

  it('rejected data points have their own name in JSON, and the same bytes in protobuf', () => {
    const outcome = { rejected: 1, message: '' };
    expect(encodeExportResponse('metrics', 'json', outcome).toString()).toBe(
      '{"partialSuccess":{"rejectedDataPoints":"1"}}',
    );
    expect(encodeExportResponse('metrics', 'protobuf', outcome)).toEqual(
      encodeExportResponse('traces', 'protobuf', outcome),
    );
  });

  it.each(['logs', 'metrics'] as const)('L2, M1: nothing to say of %s is zero bytes, and {} in JSON', (signal) => {
    const outcome = { rejected: 0, message: '' };
    expect(encodeExportResponse(signal, 'protobuf', outcome)).toHaveLength(0);
    expect(encodeExportResponse(signal, 'json', outcome).toString()).toBe('{}');
  });

  it.each(['logs', 'metrics'] as const)('L7, M3: a message alone about %s goes without a count', (signal) => {
    const outcome = { rejected: 0, message: 'not kept' };
    expect(partialSuccess(encodeExportResponse(signal, 'protobuf', outcome))).toEqual({ errorMessage: 'not kept' });
    expect(encodeExportResponse(signal, 'json', outcome).toString()).toBe(
      '{"partialSuccess":{"errorMessage":"not kept"}}',
    );
  });

  it('S4: a warning alone goes without a count', () => {
    const outcome = { rejected: 0, message: 'careful' };
    expect(partialSuccess(encodeExportResponse('traces', 'protobuf', outcome))).toEqual({ errorMessage: 'careful' });
    expect(JSON.parse(encodeExportResponse('traces', 'json', outcome).toString())).toEqual({
      partialSuccess: { errorMessage: 'careful' },
    });
  });

  it.each(['a', '\u0000', '€', '\u{1f600}'])('T9: a message of millions of %j stays under 4 MiB', (character) => {
    const outcome = { rejected: 1, message: character.repeat(5_000_000) };
    const sent = JSON.parse(encodeExportResponse('traces', 'json', outcome).toString()).partialSuccess.errorMessage;
    expect(outcome.message.startsWith(sent)).toBe(true);
    for (const encoding of ['protobuf', 'json'] as const) {
      const body = encodeExportResponse('traces', encoding, outcome);
      expect(body.length).toBeGreaterThan(500_000);
      expect(body.length).toBeLessThanOrEqual(bodyBytesMax);
    }
  });
});

describe('OTLP status', () => {
  const status = { code: 3, message: 'no', fieldViolations: [{ field: 'spans', description: 'bad id' }] };

  it('S6, S7: carries code, message and the violations as a BadRequest detail', () => {
    const decoded = RpcStatus.toObject(RpcStatus.decode(encodeStatus('protobuf', status)));
    expect(decoded).toMatchObject({
      code: 3,
      message: 'no',
    });
    const detail = BadRequest.toObject(BadRequest.decode(decoded.details[0].value));
    expect(detail).toEqual({ fieldViolations: status.fieldViolations });
    expect(JSON.parse(encodeStatus('json', status).toString())).toEqual({
      code: 3,
      message: 'no',
      details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: status.fieldViolations }],
    });
  });

  it('S7: without violations it has no details', () => {
    expect(encodeStatus('json', { code: 16, message: 'who?' }).toString()).toBe('{"code":16,"message":"who?"}');
    expect(RpcStatus.toObject(RpcStatus.decode(encodeStatus('protobuf', { code: 16, message: 'who?' })))).toEqual({
      code: 16,
      message: 'who?',
    });
  });

  it('T9: hundreds of long violations stay under 4 MiB', () => {
    const long = '\u0000'.repeat(100_000);
    const many = {
      code: 3,
      message: long.repeat(10),
      fieldViolations: Array(500).fill({ field: long, description: long }),
    };
    for (const encoding of ['protobuf', 'json'] as const)
      expect(encodeStatus(encoding, many).length).toBeLessThanOrEqual(bodyBytesMax);
  });
});

function partialSuccess(body: Uint8Array): unknown {
  return ExportTraceServiceResponse.toObject(ExportTraceServiceResponse.decode(body), { longs: String }).partialSuccess;
}
