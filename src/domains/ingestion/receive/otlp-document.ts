import { z } from 'zod';
import type { MediaType } from '../../../http/endpoint.ts';
import type { ProblemCode } from '../../../lib/problem-codes.ts';

/** Separate codecs read and write the bodies. */
const traceBodies: Readonly<Record<string, MediaType>> = {
  'application/x-protobuf': {},
  'application/json': {
    example: {
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'support' } }] },
          scopeSpans: [
            {
              spans: [
                {
                  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
                  spanId: '00f067aa0ba902b7',
                  name: 'chat gpt-5-mini',
                  kind: 3,
                  startTimeUnixNano: '1769851800000000000',
                  endTimeUnixNano: '1769851801250000000',
                  attributes: [
                    { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
                    { key: 'gen_ai.request.model', value: { stringValue: 'gpt-5-mini' } },
                    { key: 'gen_ai.usage.input_tokens', value: { intValue: '42' } },
                    { key: 'gen_ai.usage.output_tokens', value: { intValue: '7' } },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
  },
};

/** google.rpc.Status, in the encoding of the request. */
export const otlpErrors: Readonly<Record<string, MediaType>> = {
  'application/json': {
    schema: z
      .object({
        code: z.int().meta({ description: 'A google.rpc.Code', example: 3 }),
        message: z.string().meta({ example: 'The body is not a valid OTLP request' }),
        fieldViolations: z.array(z.object({ field: z.string(), description: z.string() })).optional(),
      })
      .meta({ id: 'OtlpStatus' }),
  },
  'application/x-protobuf': {},
};

const logBodies: Readonly<Record<string, MediaType>> = {
  'application/x-protobuf': {},
  'application/json': {
    example: {
      resourceLogs: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'support' } }] },
          scopeLogs: [
            {
              logRecords: [
                {
                  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
                  spanId: '00f067aa0ba902b7',
                  timeUnixNano: '1769851800000000000',
                  eventName: 'gen_ai.user.message',
                  body: {
                    kvlistValue: { values: [{ key: 'content', value: { stringValue: 'Where is my parcel?' } }] },
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  },
};

const encodings =
  'The body is protobuf or JSON, optionally compressed with gzip or deflate. The API key determines the project.';
const statusErrors = 'An error response is a google.rpc.Status in the encoding of the request.';
const success = (description: string) => ({ 200: { description, contentType: 'application/json', example: {} } });

/** What the OpenAPI document says about each signal. */
export const exportDocuments = {
  traces: {
    operationId: 'exportTraces',
    summary: 'Receive OpenTelemetry traces (OTLP/HTTP)',
    description: `${encodings} The service responds after the spans are durable. ${statusErrors}`,
    reads: traceBodies,
    responses: success('ExportTraceServiceResponse. It has partial_success if spans were rejected'),
  },
  logs: {
    operationId: 'exportLogs',
    summary: 'Receive OpenTelemetry log records (OTLP/HTTP)',
    description:
      `${encodings} The service responds after the records are durable. Records of GenAI events give their span its input, output and ` +
      `evaluations, in whatever order they arrive. Other records are kept with their span, from the severity INFO. ` +
      `Records without a span are accepted and not kept. ${statusErrors}`,
    reads: logBodies,
    responses: success('ExportLogsServiceResponse. It has partial_success if records were rejected, or not kept'),
  },
  metrics: {
    operationId: 'exportMetrics',
    summary: 'Accept OpenTelemetry metrics (OTLP/HTTP) without keeping them',
    description:
      'SDKs that are configured by environment variables send all signals to one address. Metrics are accepted and not kept, because ' +
      `usage and latency are computed from spans. ${statusErrors}`,
    reads: { 'application/x-protobuf': {}, 'application/json': { example: { resourceMetrics: [] } } },
    responses: success('ExportMetricsServiceResponse. Once an hour, it says that metrics are not kept'),
  },
} as const;

export const exportProblems: readonly ProblemCode[] = [
  'malformed_otlp',
  'corrupt_body',
  'incomplete_body',
  'spans_rejected',
  'api_key_required',
  'quota_exceeded',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
  'workspace_busy',
  'ingest_unavailable',
  'queue_unavailable',
];
