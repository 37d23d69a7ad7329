import { type SpanKind, spanKinds } from '../../lib/span-kind.ts';
import type { AnyValue } from '../../otlp/span.ts';
import { attribute, attributes, field, type Reader } from './candidates.ts';
import { invokedModel, modelKeys } from './model.ts';
import { text, unquoted } from './read-value.ts';

const promptlane = named(Object.fromEntries(spanKinds.map((name) => [name, name])));

const langfuse = named({
  generation: 'llm',
  embedding: 'embedding',
  agent: 'agent',
  tool: 'tool',
  chain: 'chain',
  retriever: 'retrieval',
  guardrail: 'guardrail',
  evaluator: 'evaluator',
});

const openInference = named({
  llm: 'llm',
  embedding: 'embedding',
  retriever: 'retrieval',
  reranker: 'reranker',
  tool: 'tool',
  agent: 'agent',
  guardrail: 'guardrail',
  evaluator: 'evaluator',
  chain: 'chain',
  prompt: 'chain',
});

const langSmith = named({
  llm: 'llm',
  embedding: 'embedding',
  retriever: 'retrieval',
  tool: 'tool',
  chain: 'chain',
  prompt: 'chain',
  parser: 'chain',
});

const mlflow = named({
  llm: 'llm',
  chat_model: 'llm',
  embedding: 'embedding',
  retriever: 'retrieval',
  reranker: 'reranker',
  agent: 'agent',
  tool: 'tool',
  chain: 'chain',
  parser: 'chain',
  workflow: 'chain',
  task: 'chain',
  guardrail: 'guardrail',
  evaluator: 'evaluator',
});

const genAiOperation = named({
  chat: 'llm',
  text_completion: 'llm',
  completion: 'llm',
  generate_content: 'llm',
  fetch_response: 'llm',
  embeddings: 'embedding',
  execute_tool: 'tool',
  retrieval: 'retrieval',
  search_memory: 'retrieval',
  rerank: 'reranker',
  invoke_agent: 'agent',
  create_agent: 'agent',
  invoke_workflow: 'chain',
  agent_step: 'chain',
  plan: 'chain',
  'guardrail.run': 'guardrail',
  guard: 'guardrail',
  evaluate: 'evaluator',
  create_memory: 'other',
  update_memory: 'other',
  upsert_memory: 'other',
  delete_memory: 'other',
  create_memory_store: 'other',
  delete_memory_store: 'other',
});

const traceloop = named({ workflow: 'chain', task: 'chain', agent: 'agent', tool: 'tool' });

const laminar = named({
  llm: 'llm',
  tool: 'tool',
  pipeline: 'chain',
  executor: 'chain',
  evaluation: 'evaluator',
  evaluator: 'evaluator',
  human_evaluator: 'evaluator',
});

const requestType = named({ chat: 'llm', completion: 'llm', embedding: 'embedding', rerank: 'reranker' });

const genkit = named({
  model: 'llm',
  tool: 'tool',
  'tool.v2': 'tool',
  flow: 'chain',
  prompt: 'chain',
  'executable-prompt': 'chain',
  embedder: 'embedding',
  retriever: 'retrieval',
  reranker: 'reranker',
  evaluator: 'evaluator',
  agent: 'agent',
});

const mcpMethod = named({ 'tools/call': 'tool' });

const aiSdkSteps = new Map<string, SpanKind>([
  ['doGenerate', 'llm'],
  ['doStream', 'llm'],
  ['doEmbed', 'embedding'],
  ['doRerank', 'reranker'],
  ['toolCall', 'tool'],
]);

export const kind = field<SpanKind>('kind', [
  attribute('promptlane.span.kind', promptlane),
  attribute('langfuse.observation.type', langfuse),
  attribute('openinference.span.kind', openInference),
  attribute('langsmith.span.kind', langSmith),
  attribute('mlflow.spanType', mlflow),
  attribute('gen_ai.operation.name', genAiOperation),
  attribute('traceloop.span.kind', traceloop),
  attribute('lmnr.span.type', laminar),
  attribute('llm.request.type', requestType),
  attribute('ai.operationId', aiSdkOperation),
  attribute('operation.name', aiSdkOperation),
  ...attributes(['agent_loop.cycle_id', 'event_loop.cycle_id'], always('chain')),
  attribute('gcp.vertex.agent.llm_request', (value) => (isEmptyRequest(value) ? undefined : 'llm')),
  attribute('genkit:metadata:subtype', genkit),
  attribute('mcp.method.name', mcpMethod),
  ...attributes(['gen_ai.tool.name', 'tool.call.id', 'gen_ai.tool.call.id', 'tool.name'], always('tool')),
  ...attributes(['db.system.name', 'db.system'], always('db')),
  ...attributes(['http.request.method', 'http.method', 'http.route', 'url.full'], always('http')),
  ...attributes(modelKeys, always('llm')),
  attribute('llm.invocation_parameters', (value, reading) => (invokedModel(value, reading) ? 'llm' : undefined)),
  ...attributes(['gen_ai.agent.name', 'agent.name'], always('agent')),
]);

/**
 * Returns a reader for the kind names of one convention, given in lower case. A name that is not
 * listed has no kind.
 */
function named(words: Record<string, SpanKind>): Reader<SpanKind> {
  const kinds = new Map(Object.entries(words));
  return (value, reading) => kinds.get((unquoted(value, reading) ?? '').toLowerCase());
}

function always(result: SpanKind): Reader<SpanKind> {
  return (value) => (text(value) === undefined ? undefined : result);
}

/**
 * Reads the AI SDK's operation. `ai.streamText.doStream weather` is an llm call. Operations that
 * are not in `aiSdkSteps` wrap such steps.
 */
function aiSdkOperation(value: AnyValue): SpanKind | undefined {
  const operation = (text(value) ?? '').split(' ', 1)[0] ?? '';
  if (!operation.startsWith('ai.')) return undefined;
  return aiSdkSteps.get(operation.slice(operation.lastIndexOf('.') + 1)) ?? 'chain';
}

function isEmptyRequest(value: AnyValue): boolean {
  return value === '' || value === '{}' || (value instanceof Map && value.size === 0);
}
