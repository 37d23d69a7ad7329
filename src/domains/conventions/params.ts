import type { AnyValue } from '../../otlp/span.ts';
import { attribute, family, field, isBelow, type Reading, warn } from './candidates.ts';
import { limits } from './limits.ts';
import { isObject, parsed, plain } from './read-value.ts';

/** The parameters of the call as a JSON object. The model is a separate field. */
export const params = field<string>('params', [
  family('gen_ai.request.', below('gen_ai.request.')),
  attribute('llm.invocation_parameters', object),
  attribute('langfuse.observation.model.parameters', object),
  family('ai.settings.', below('ai.settings.')),
  family('gen_ai.openai.request.', below('gen_ai.openai.request.')),
  family('gen_ai.retrieval.top_k', below('gen_ai.retrieval.')),
]);

/**
 * Returns a reader that writes JSON text member by member. Most model calls use it, and building an
 * object with keys cut from other strings costs three times as much.
 */
function below(prefix: string) {
  return (_value: AnyValue, reading: Reading): string | undefined => {
    let json = '';
    for (const key of reading.familyKeys) {
      if (!isBelow(key, prefix)) continue;
      const value = reading.span.attributes.get(key) ?? null;
      json += `${json === '' ? '{' : ','}${memberName(key, prefix)}:${scalarJson(value)}`;
    }
    return json === '' ? undefined : bounded(`${json}}`, reading);
  };
}

function object(value: AnyValue, reading: Reading): string | undefined {
  const found = parsed(value, reading);
  return isObject(found) && Object.keys(found).length > 0 ? bounded(JSON.stringify(found), reading) : undefined;
}

function bounded(json: string, reading: Reading): string | undefined {
  if (json.length <= limits.paramsCharsMax) return json;
  warn(reading, 'params_too_long');
  return undefined;
}

/**
 * Parameter names as JSON text by attribute key, because clients use the same few names all the
 * time. When the map is full, no more names are added. Shared by all workspaces.
 */
const memberNames = new Map<string, string>();
const memberNamesMax = 500;

function memberName(key: string, prefix: string): string {
  const known = memberNames.get(key);
  if (known !== undefined) return known;
  const name = JSON.stringify(key.slice(prefix.length));
  if (memberNames.size < memberNamesMax && name.length < limits.tagCharsMax) memberNames.set(key, name);
  return name;
}

function scalarJson(value: AnyValue): string {
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return String(value);
  return JSON.stringify(plain(value));
}
