import type { AnyValue } from '../../otlp/span.ts';
import { attribute, attributes, field, type Reader, type Reading } from './candidates.ts';
import { member, text, unquoted } from './read-value.ts';

/** Attributes that contain a model's name, best first. */
export const modelKeys = [
  'gen_ai.response.model',
  'llm.response.model_name',
  'langfuse.observation.model.name',
  'ai.response.model',
  'mlflow.llm.model',
  'gen_ai.request.model',
  'llm.request.model_name',
  'llm.model_name',
  'embedding.model_name',
  'reranker.model_name',
  'ai.model.id',
] as const;

export const model = field('model', [
  ...attributes(modelKeys, unquoted),
  attribute('llm.invocation_parameters', invokedModel),
  attribute('genkit:name', genkitModel(1)),
]);

export const requestModel = field('request_model', [
  ...attributes(['gen_ai.request.model', 'llm.request.model_name'], text),
  attribute('llm.invocation_parameters', invokedModel),
  attribute('ai.model.id', text),
]);

export const provider = field('provider', [
  ...attributes(
    [
      'gen_ai.provider.name',
      'gen_ai.system',
      'llm.provider',
      'llm.system',
      'ai.model.provider',
      'mlflow.llm.provider',
      'langsmith.metadata.ls_provider',
    ],
    providerName,
  ),
  attribute('genkit:name', (value, reading) => providerName(genkitModel(0)(value, reading) ?? null, reading)),
]);

export const responseId = field('response_id', attributes(['gen_ai.response.id', 'ai.response.id'], text));

/** The AI SDK appends the name of the called API to the provider. */
const apiSuffixes = new Set([
  'chat',
  'responses',
  'completion',
  'messages',
  'embedding',
  'generative-ai',
  'image',
  'speech',
  'transcription',
]);

const modelCallKinds: ReadonlySet<string> = new Set(['llm', 'embedding', 'reranker']);

const aliases = new Map([
  ['az.ai.openai', 'azure.ai.openai'],
  ['az.ai.inference', 'azure.ai.inference'],
  ['azure', 'azure.ai.openai'],
  ['azure-openai', 'azure.ai.openai'],
  ['mistralai', 'mistral_ai'],
  ['mistral', 'mistral_ai'],
  ['vertexai', 'gcp.vertex_ai'],
  ['vertex_ai', 'gcp.vertex_ai'],
  ['google.vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gen_ai'],
  ['googleai', 'gcp.gen_ai'],
  ['gcp.vertex.agent', 'gcp.gen_ai'],
  ['gemini', 'gcp.gemini'],
  ['aws', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['xai', 'x_ai'],
]);

/**
 * Returns a reader for one half of Genkit's `plugin/model`. Ignores other actions, which have a
 * name too.
 */
function genkitModel(part: 0 | 1): Reader<string> {
  return (value, { kind }) => {
    const [, ...parts] = /^([^/]+)\/(.+)$/.exec(modelCallKinds.has(kind) ? (text(value) ?? '') : '') ?? [];
    return parts[part];
  };
}

/** Returns the model named in a call's parameters. */
export function invokedModel(value: AnyValue, reading: Reading): string | undefined {
  const name = member(value, ['model'], reading);
  return typeof name === 'string' ? text(name) : undefined;
}

function providerName(value: AnyValue, reading: Reading): string | undefined {
  const name = unquoted(value, reading);
  return name === undefined ? undefined : canonicalProvider(name);
}

/**
 * Returns the one name of a provider that has several names. An unknown provider keeps its name;
 * its prices are then found by the model alone.
 */
export function canonicalProvider(given: string): string {
  const name = given.toLowerCase();
  const dot = name.lastIndexOf('.');
  const stem = dot > 0 && apiSuffixes.has(name.slice(dot + 1)) ? name.slice(0, dot) : name;
  return aliases.get(stem) ?? stem;
}
