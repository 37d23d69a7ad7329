import type { AnyValue, Attributes } from '../../otlp/span.ts';
import type { SpanStatus } from '../spans/index.ts';
import { attribute, attributes, event, field, first, type Reading, type Row } from './candidates.ts';
import { limits } from './limits.ts';
import { longText, number, text } from './read-value.ts';

/**
 * The GenAI conventions define a separate log event for a failed call. Some clients put it on the
 * span.
 */
export const EXCEPTION_EVENTS = ['exception', 'gen_ai.client.operation.exception'];

const STATUS_OK = 1;
const STATUS_ERROR = 2;

export const errorLevel = field<true>('level', [
  attribute('langfuse.observation.level', (value) => (value === 'ERROR' ? true : undefined)),
]);

export const errorType = field('error_type', [
  attribute('error.type', text),
  ...exceptionEvents('exception.type', limits.identifierCharsMax),
]);

/** The span's `status.message` comes before these. It is a member of the span, not an attribute. */
export const errorMessage = field('error_message', [
  attribute('langfuse.observation.status_message', (value) => longText(value, limits.errorMessageCharsMax)),
  ...exceptionEvents('exception.message', limits.errorMessageCharsMax),
]);

export const errorStack = field('error_stack', exceptionEvents('exception.stacktrace', limits.errorStackCharsMax));

export const httpStatusCode = field(
  'http_status_code',
  attributes(['http.response.status_code', 'http.status_code'], statusCode),
);

/**
 * The first matching rule is used. Langfuse reports failure only as a level. LangSmith sets OK
 * before it records the exception.
 */
const rules: readonly { status: SpanStatus; holds: (reading: Reading) => boolean }[] = [
  { status: 'error', holds: ({ span }) => span.statusCode === STATUS_ERROR },
  { status: 'error', holds: (reading) => first(reading, errorLevel) === true },
  { status: 'error', holds: ({ span }) => span.scope.name === 'langsmith' && exceptionOf(span.events) !== undefined },
  { status: 'ok', holds: ({ span }) => span.statusCode === STATUS_OK },
  {
    status: 'error',
    holds: ({ span }) => !isEmpty(span.attributes.get('error.type')) || exceptionOf(span.events) !== undefined,
  },
];

/** Returns the status of the span, or `unset` when no rule matches. */
export function readStatus(reading: Reading): SpanStatus {
  return rules.find(({ holds }) => holds(reading))?.status ?? 'unset';
}

function exceptionEvents(key: string, charsMax: number): Row<string>[] {
  const read = (_value: AnyValue, { span }: Reading) => longText(exceptionOf(span.events)?.get(key) ?? null, charsMax);
  return EXCEPTION_EVENTS.map((name) => event(name, read));
}

/**
 * Returns the attributes of the last exception, which ended the span. Earlier exceptions were
 * handled.
 */
function exceptionOf(events: readonly { name: string; attributes: Attributes }[]): Attributes | undefined {
  return events.findLast(({ name }) => EXCEPTION_EVENTS.includes(name))?.attributes;
}

function isEmpty(value: AnyValue | undefined): boolean {
  return value === undefined || value === null || value === '';
}

function statusCode(value: AnyValue): number | undefined {
  const code = number(value);
  return code !== undefined && Number.isInteger(code) && code >= 100 && code <= 999 ? code : undefined;
}
