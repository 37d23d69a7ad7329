import type { AnyValue } from '../otlp/span.ts';
import { attribute, family, field, type Reading, warn } from './candidates.ts';
import { limits } from './limits.ts';
import { isObject, parsed, plain } from './read-value.ts';

/** What the call was asked with, as a JSON object. The model is a field of its own. */
export const params = field<string>('params', [
  family('gen_ai.request.', below('gen_ai.request.')),
  attribute('llm.invocation_parameters', object),
  attribute('langfuse.observation.model.parameters', object),
  family('ai.settings.', below('ai.settings.')),
]);

function below(prefix: string) {
  return (_value: AnyValue, reading: Reading): string | undefined => {
    const found: [string, unknown][] = [];
    for (const [key, value] of reading.span.attributes) {
      if (key.startsWith(prefix) && key !== 'gen_ai.request.model')
        found.push([key.slice(prefix.length), plain(value)]);
    }
    return found.length === 0 ? undefined : bounded(Object.fromEntries(found), reading);
  };
}

function object(value: AnyValue, reading: Reading): string | undefined {
  const found = parsed(value, reading);
  return isObject(found) && Object.keys(found).length > 0 ? bounded(found, reading) : undefined;
}

function bounded(found: Record<string, unknown>, reading: Reading): string | undefined {
  const json = JSON.stringify(found);
  if (json.length <= limits.paramsCharsMax) return json;
  warn(reading, 'params_too_long');
  return undefined;
}
