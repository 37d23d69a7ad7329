import { STATUS_CODES } from 'node:http';
import type { JsonObject } from './json-object.ts';
import type { Operation } from './operation.ts';

/**
 * Makes components of the parameters and refusals that several operations have in common, and lets
 * the operations refer to them.
 */
export function shareRepeated(given: readonly Operation[]): {
  operations: Operation[];
  components: { parameters: JsonObject; responses: JsonObject };
} {
  const parameters = componentsOf(
    'parameters',
    given.flatMap((operation) => operation.parameters.map((value) => [pascalCase(String(value.name)), value] as const)),
  );
  const responses = componentsOf(
    'responses',
    given.flatMap((operation) =>
      Object.entries(operation.responses).flatMap(([status, value]) =>
        Number(status) < 300 ? [] : [[pascalCase(STATUS_CODES[status] ?? status), value] as const],
      ),
    ),
  );
  const operations = given.map((operation) => ({
    ...operation,
    parameters: operation.parameters.map(parameters.refer),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, value]) => [status, responses.refer(value)]),
    ),
  }));
  return { operations, components: { parameters: parameters.components, responses: responses.components } };
}

/**
 * Names what occurs more than once. Of several with one name the most frequent gets it, the others
 * a number after it.
 */
function componentsOf(kind: string, values: readonly (readonly [name: string, value: JsonObject])[]) {
  const byText = new Map<string, { name: string; value: JsonObject; count: number }>();
  for (const [name, value] of values) {
    const text = JSON.stringify(value);
    const known = byText.get(text) ?? { name, value, count: 0 };
    byText.set(text, { ...known, count: known.count + 1 });
  }
  const components: JsonObject = {};
  const references = new Map<string, JsonObject>();
  const ofName = new Map<string, number>();
  for (const [text, { name, value, count }] of [...byText].sort(([, a], [, b]) => b.count - a.count)) {
    if (count === 1) continue;
    const number = (ofName.get(name) ?? 0) + 1;
    ofName.set(name, number);
    const unique = number === 1 ? name : `${name}${number}`;
    components[unique] = value;
    references.set(text, { $ref: `#/components/${kind}/${unique}` });
  }
  return { components, refer: (value: JsonObject) => references.get(JSON.stringify(value)) ?? value };
}

/** Returns `ProjectId` for `project_id`, `IfNoneMatch` for `If-None-Match`. */
function pascalCase(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]*([A-Za-z0-9]+)[^A-Za-z0-9]*/g, (_, word: string) => {
    return word.slice(0, 1).toUpperCase() + word.slice(1);
  });
}
