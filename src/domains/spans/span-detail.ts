import type { CostSource, SpanStatus } from './normalized-span.ts';

/** The parts of a span that `?include=` selects, and the columns each of them reads. */
export const spanParts = {
  input: ['input'],
  output: ['output'],
  attributes: ['attributes_string', 'attributes_int', 'attributes_double', 'attributes_bool', 'attributes_other'],
  events: ['events'],
  links: ['links'],
  resource: ['resource'],
  scope: ['scope'],
} as const;

export type SpanPart = keyof typeof spanParts;
export const partNames = Object.keys(spanParts) as SpanPart[];

/**
 * A row of `spans`. Parts that were not requested are absent. Parts over a bound are empty and
 * named in `cut`.
 */
export interface SpanDetail {
  id: string;
  parent: string;
  start_unix_nano: string;
  end_unix_nano: string;
  name: string;
  kind: string;
  status: SpanStatus;
  service: string;
  environment: string;
  provider: string;
  model: string;
  usage: number[];
  cost_nano_usd: string;
  session_id: string;
  user_id: string;
  tags: string[];
  prompt_id: string;
  prompt_name: string;
  prompt_version: number;
  prompt_raw_version: string;
  prompt_source: string;
  prompt_key: string;
  span_name: string;
  otel_kind: number;
  status_code: number;
  status_message: string;
  trace_state: string;
  flags: number;
  dropped_attributes_count: number;
  dropped_events_count: number;
  dropped_links_count: number;
  normaliser_version: number;
  error_type: string;
  error_message: string;
  error_stack: string;
  http_status_code: number;
  release: string;
  request_model: string;
  cost_source: CostSource;
  price_version: string;
  ttft_ms: number | null;
  conversation_id: string;
  params: string;
  evaluations: string;
  warnings: string[];
  cut: SpanPart[];
  input?: string;
  output?: string;
  attributes_string?: Record<string, string>;
  attributes_int?: Record<string, string>;
  attributes_double?: Record<string, number | null | string>;
  attributes_bool?: Record<string, boolean>;
  attributes_other?: Record<string, string>;
  events?: string;
  links?: string;
  resource?: string;
  scope?: string;
}

const computed = {
  id: 'lower(hex(span_id))',
  parent: "if(parent_span_id = unhex('0000000000000000'), '', lower(hex(parent_span_id)))",
  usage:
    'if(has_usage, [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens], [])',
} as const satisfies Partial<Record<keyof SpanDetail, string>>;

const columns: readonly (keyof SpanDetail)[] = [
  'start_unix_nano',
  'end_unix_nano',
  'name',
  'kind',
  'status',
  'service',
  'environment',
  'provider',
  'model',
  'cost_nano_usd',
  'session_id',
  'user_id',
  'tags',
  'prompt_id',
  'prompt_name',
  'prompt_version',
  'prompt_raw_version',
  'prompt_source',
  'prompt_key',
  'span_name',
  'otel_kind',
  'status_code',
  'status_message',
  'trace_state',
  'flags',
  'dropped_attributes_count',
  'dropped_events_count',
  'dropped_links_count',
  'normaliser_version',
  'error_type',
  'error_message',
  'error_stack',
  'http_status_code',
  'release',
  'request_model',
  'cost_source',
  'price_version',
  'ttft_ms',
  'conversation_id',
  'params',
  'evaluations',
  'warnings',
];

/** SQL for all fields of a {@link SpanDetail} except its parts and `cut`. */
export const headColumns: readonly string[] = [
  ...Object.entries(computed).map(([name, sql]) => `${sql} AS ${name}`),
  ...columns,
];
