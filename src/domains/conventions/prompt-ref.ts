import { templateKey } from '../../lib/template-hash.ts';
import type { AnyValue } from '../../otlp/span.ts';
import type { PromptRef } from '../prompt-links/index.ts';
import { attribute, attributes, family, field, isBelow, type Reader, type Reading } from './candidates.ts';
import { limits } from './limits.ts';
import { isObject, parsed, text, unquoted } from './read-value.ts';

const logfirePrefix = 'logfire.variables.prompt__';

/**
 * The managed prompt that the span used, best source first: our own id, then names of other
 * conventions, then the text of a template.
 */
export const promptRef = field<PromptRef>('prompt_ref', [
  attribute('promptlane.prompt.id', ownPrompt),
  attribute('gen_ai.prompt.name', named('gen_ai.prompt.version')),
  attribute('langfuse.observation.prompt.name', named('langfuse.observation.prompt.version')),
  attribute('langfuse.prompt.name', named('langfuse.prompt.version')),
  attribute('prompt.id', openInferencePrompt),
  attribute('traceloop.prompt.key', named('traceloop.prompt.version', 'traceloop.prompt.version_name')),
  ...attributes(['mlflow.linkedPrompts', 'mlflow.traceTag.mlflow.linkedPrompts'], linkedPrompts),
  attribute('ai.telemetry.metadata.promptName', named('ai.telemetry.metadata.promptVersion')),
  attribute('ai.telemetry.metadata.langfusePrompt', linkedPrompts),
  attribute('langsmith.metadata.lc_hub_repo', named('langsmith.metadata.lc_hub_commit_hash')),
  family(logfirePrefix, managedVariable),
  ...attributes(['llm.prompt_template.template'], template('llm.prompt_template.version')),
  ...attributes(['traceloop.prompt.template'], template('traceloop.prompt.version')),
]);

/** Returns 3 for `3` and `v3`. Returns 0 for anything else, which then links to the prompt only. */
export function versionNumber(raw: string): number {
  const digits = /^v?(\d{1,10})$/.exec(raw)?.[1];
  const version = Number(digits ?? 0);
  return version <= limits.tokenCountMax ? version : 0;
}

function ownPrompt(value: AnyValue, reading: Reading): PromptRef | undefined {
  const id = text(value);
  const version =
    attributeText(reading, 'promptlane.prompt.version') || attributeText(reading, 'gen_ai.prompt.version');
  return id === undefined ? undefined : ref({ id, name: attributeText(reading, 'gen_ai.prompt.name'), version });
}

function named(versionKey: string, otherwiseKey = versionKey): Reader<PromptRef> {
  return (value, reading) => {
    const name = text(value);
    const version = attributeText(reading, versionKey) || attributeText(reading, otherwiseKey);
    return name === undefined ? undefined : ref({ name, version });
  };
}

/**
 * Reads Logfire's prompt variables. The attribute's value is the label that was resolved; the
 * attribute with `.version` appended has the version.
 */
function managedVariable(_value: AnyValue, reading: Reading): PromptRef | undefined {
  const key = reading.familyKeys.find((each) => isBelow(each, logfirePrefix));
  const name = text(key?.slice(logfirePrefix.length).replace(/\.version$/, '') ?? null);
  if (name === undefined) return undefined;
  const label = logfirePrefix + name;
  return ref({ name, version: attributeText(reading, `${label}.version`) || attributeText(reading, label) });
}

/**
 * Reads OpenInference's `prompt.id`. Ignores an id of another vendor, because it is not one of
 * ours.
 */
function openInferencePrompt(value: AnyValue, reading: Reading): PromptRef | undefined {
  const id = text(value);
  const vendor = attributeText(reading, 'prompt.vendor').toLowerCase();
  if (id === undefined || (vendor !== '' && vendor !== 'promptlane')) return undefined;
  return ref({ id, version: attributeText(reading, 'llm.prompt_template.version') });
}

/**
 * Reads `{"name","version"}` or a list of these. Returns the first that has a name, with the
 * following ones as `others`.
 */
function linkedPrompts(value: AnyValue, reading: Reading): PromptRef | undefined {
  const linked = parsed(value, reading);
  const list = Array.isArray(linked) ? linked.slice(0, limits.linkedPromptsMax) : [linked];
  const [first, ...others] = list.flatMap((each) => linkedPrompt(each) ?? []);
  return first === undefined || others.length === 0 ? first : { ...first, others };
}

function linkedPrompt(linked: unknown): PromptRef | undefined {
  if (!isObject(linked) || typeof linked.name !== 'string') return undefined;
  const name = text(linked.name);
  return name === undefined ? undefined : ref({ name, version: scalar(linked.version) });
}

function template(versionKey: string): Reader<PromptRef> {
  return (value, reading) =>
    typeof value !== 'string' || value === '' || value.length > limits.textCharsMax
      ? undefined
      : ref({ id: templateKey(value), version: attributeText(reading, versionKey), source: 'template_match' });
}

function ref(known: { id?: string; name?: string; version: string; source?: string }): PromptRef {
  const { id = '', name = '', version, source = 'self' } = known;
  return { id, name, version: versionNumber(version), rawVersion: version, source };
}

function attributeText(reading: Reading, key: string): string {
  return unquoted(reading.span.attributes.get(key) ?? null, reading) ?? '';
}

function scalar(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? (text(value) ?? '') : '';
}
