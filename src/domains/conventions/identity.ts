import type { AnyValue } from '../../otlp/span.ts';
import { attribute, attributes, family, field, isBelow, type Reading } from './candidates.ts';
import { limits } from './limits.ts';
import { cut, parsed, text, unquoted } from './read-value.ts';

export const sessionId = field(
  'session_id',
  attributes(
    [
      'session.id',
      'langfuse.session.id',
      'gen_ai.conversation.id',
      'traceloop.association.properties.session_id',
      'lmnr.association.properties.session_id',
      'langsmith.trace.session_id',
      'langsmith.metadata.session_id',
      'langsmith.metadata.thread_id',
      'langsmith.metadata.conversation_id',
      'ai.telemetry.metadata.sessionId',
      'gcp.vertex.agent.session_id',
      'mlflow.trace.session',
    ],
    unquoted,
  ),
);

export const conversationId = field('conversation_id', [attribute('gen_ai.conversation.id', text)]);

export const userId = field(
  'user_id',
  attributes(
    [
      'user.id',
      'langfuse.user.id',
      'enduser.id',
      'traceloop.association.properties.user_id',
      'lmnr.association.properties.user_id',
      'langsmith.metadata.user_id',
      'ai.telemetry.metadata.userId',
      'gen_ai.user',
      'mlflow.trace.user',
    ],
    unquoted,
  ),
);

const mlflowTagPrefix = 'mlflow.traceTag.';

export const tags = field<string[]>('tags', [
  ...attributes(
    [
      'langfuse.trace.tags',
      'tag.tags',
      'langsmith.span.tags',
      'ai.telemetry.metadata.tags',
      'logfire.tags',
      'lmnr.association.properties.tags',
    ],
    tagList,
  ),
  family(mlflowTagPrefix, mlflowTags),
]);

/**
 * More tags are read than kept, because some may be empty or repeated. Tags after this number are
 * ignored.
 */
const tagsReadMax = limits.tagsMax * 4;

/** Reads a list, a JSON list sent as text, or a comma-separated list. */
function tagList(value: AnyValue, reading: Reading): string[] | undefined {
  const list = typeof value === 'string' ? (parsed(value, reading) ?? value.split(',', tagsReadMax)) : value;
  return Array.isArray(list) ? bounded(list.slice(0, tagsReadMax).map((each) => text(each)?.trim())) : undefined;
}

/**
 * Reads MLflow's tags, which are pairs. MLflow's own tags (such as `mlflow.traceName`) are left
 * out.
 */
function mlflowTags(_value: AnyValue, reading: Reading): string[] | undefined {
  const pairs: string[] = [];
  for (const key of reading.familyKeys) {
    const value = reading.span.attributes.get(key) ?? null;
    if (!isBelow(key, mlflowTagPrefix) || key.startsWith('mlflow.', mlflowTagPrefix.length)) continue;
    pairs.push(`${key.slice(mlflowTagPrefix.length)}:${unquoted(value, reading) ?? ''}`);
  }
  return bounded(pairs);
}

function bounded(found: readonly (string | undefined)[]): string[] | undefined {
  const kept = new Set<string>();
  for (const tag of found) {
    if (kept.size === limits.tagsMax) break;
    if (tag !== undefined && tag !== '') kept.add(cut(tag, limits.tagCharsMax));
  }
  return kept.size === 0 ? undefined : [...kept];
}
