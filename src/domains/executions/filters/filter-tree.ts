import { quote } from '../../../http/faults.ts';
import { checkJson, jsonDepthMax } from '../../../http/json-walk.ts';
import { closest } from '../../../lib/closest.ts';
import { AppError, MalformedError } from '../../../lib/errors.ts';
import { attribute } from './attribute-type.ts';
import type { Condition } from './condition.ts';
import { attributePrefix, type ExecutionField, executionFields } from './execution-fields.ts';
import { type FieldType, operatorsOf } from './field-types.ts';
import type { Operator } from './operators.ts';

const depthMax = 8;
const nodesMax = 100;
const listMax = 100;

/**
 * Parses a filter: JSON of `{and: [...]}`, `{or: [...]}`, `{not: {...}}` and `{field, op, value}`.
 * @throws MalformedError `unknown_filter_field` with `did_you_mean`, or `invalid_filter`; both name
 * the path
 */
export function parseFilter(json: string): Condition {
  let nodes = 0;

  function node(value: unknown, path: string, depth: number): Condition {
    if (++nodes > nodesMax) throw invalid(path, `exceeds the limit of ${nodesMax} nodes in one filter`);
    if (depth > depthMax) throw invalid(path, `is nested more than ${depthMax} levels deep`);
    const record = asObject(value, path);
    const [name = ''] = Object.keys(record);
    const branch = Object.keys(record).length === 1 ? branches.get(name) : undefined;
    return branch === undefined ? leaf(record, path) : branch(record[name], `${path}.${name}`, depth + 1);
  }

  function nodeList(value: unknown, path: string, depth: number): Condition[] {
    if (!Array.isArray(value)) throw invalid(path, `must be a list of nodes; given ${quote(value)}`);
    return value.map((item: unknown, index) => node(item, `${path}[${index}]`, depth));
  }

  const branches = new Map<string, (value: unknown, path: string, depth: number) => Condition>([
    ['and', (value, path, depth) => ({ all: nodeList(value, path, depth) })],
    ['or', (value, path, depth) => ({ any: nodeList(value, path, depth) })],
    ['not', (value, path, depth) => ({ not: node(value, path, depth) })],
  ]);
  return node(parseJson(json), 'filter', 1);
}

function leaf(record: Readonly<Record<string, unknown>>, path: string): Condition {
  const unknown = Object.keys(record).find((key) => !['field', 'op', 'value'].includes(key));
  if (unknown !== undefined) {
    throw invalid(`${path}.${unknown}`, 'does not exist. A node is {and}, {or}, {not} or {field, op, value}');
  }
  const { field, op, value } = record;
  if (typeof field !== 'string') throw invalid(`${path}.field`, `must be a text; given ${quote(field)}`);
  if (field.startsWith(attributePrefix) && field.length > attributePrefix.length) {
    return { attribute: field.slice(attributePrefix.length), ...comparison(attribute, field, op, value, path) };
  }
  const known = fieldNamed(field);
  if (known === undefined) throw unknownField(field, path);
  return { field: known, ...comparison(known.type, field, op, value, path) };
}

function comparison(type: FieldType, field: string, op: unknown, value: unknown, path: string) {
  const allowed = operatorsOf(type.tests);
  const operator = allowed.find((name) => name === op);
  if (operator === undefined) {
    throw invalid(`${path}.op`, `must be one of ${allowed.join(', ')} for ${field}; given ${quote(op)}`);
  }
  return { op: operator, values: valuesOf(type, operator, value, `${path}.value`) };
}

function valuesOf(type: FieldType, op: Operator, value: unknown, path: string) {
  if (op === 'exists') {
    if (typeof value !== 'boolean') throw invalid(path, `must be true or false; given ${quote(value)}`);
    return [value];
  }
  if (op !== 'in' && op !== 'nin') return [readValue(type, value, path)];
  if (!Array.isArray(value) || value.length === 0 || value.length > listMax) {
    throw invalid(path, `must be a list of 1 to ${listMax} values; given ${quote(value)}`);
  }
  return value.map((item, index) => readValue(type, item, `${path}[${index}]`));
}

function readValue(type: FieldType, value: unknown, path: string) {
  const read = type.read(value);
  if (read === undefined) throw invalid(path, `must be ${type.expects}; given ${quote(value)}`);
  return read;
}

function fieldNamed(name: string): ExecutionField | undefined {
  return Object.entries(executionFields).find(([known]) => known === name)?.[1];
}

function parseJson(json: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw invalid('filter', `is not valid JSON; given ${quote(json)}`);
  }
  try {
    checkJson(value, json);
  } catch (error) {
    if (error instanceof AppError) throw unusable(error);
    throw error;
  }
  return value;
}

/**
 * Converts an error of {@link checkJson}, which is about a request body, to an error about the
 * filter.
 */
function unusable({ code, errors }: AppError): MalformedError {
  const [fault] = errors ?? [];
  if (code === 'json_too_deep' || fault === undefined) {
    return invalid('filter', `is nested more than ${jsonDepthMax} levels deep`);
  }
  return invalid(fault.path === '' ? 'filter' : `filter.${fault.path}`, fault.message);
}

function asObject(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw invalid(path, `must be an object; given ${quote(value)}`);
}

function invalid(path: string, message: string): MalformedError {
  return new MalformedError('invalid_filter', `${path} ${message}`, {
    errors: [{ path, code: 'invalid_filter', message }],
  });
}

function unknownField(field: string, path: string): MalformedError {
  const names = [...Object.keys(executionFields), `${attributePrefix}<key>`];
  const near = closest(field, names);
  const message = `${quote(field)} does not exist; ${near ? `did you mean ${quote(near)}?` : `the fields are ${names.join(', ')}`}`;
  const errors = [{ path: `${path}.field`, code: 'unknown_filter_field', message }];
  return new MalformedError('unknown_filter_field', message, { errors, extra: { did_you_mean: near ?? null } });
}
