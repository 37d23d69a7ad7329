import { z } from 'zod';
import type { MediaType } from '../../../http/endpoint.ts';
import type { ProblemCode } from '../../../lib/problem-codes.ts';

/** What the OpenAPI document says about OTLP bodies. Separate codecs read and write them. */
export const otlpBodies: Readonly<Record<string, MediaType>> = {
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

export const refusedExample = { code: 5, message: 'Promptlane accepts traces only, not metrics.' };

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
