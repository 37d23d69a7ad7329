import type { AnyValue } from '../../otlp/span.ts';
import { attribute, attributes, event, field, first, indexed, type Reader, type Reading } from './candidates.ts';
import {
  answers,
  asSent,
  content,
  data,
  instructionsOnly,
  ofJsonText,
  ofMessages,
  withSystemInstructions,
} from './messages/content.ts';
import { eventMember } from './messages/event-message.ts';
import {
  CHOICE_EVENT,
  choiceEvents,
  DETAILS_EVENT,
  detailsInput,
  detailsOutput,
  loggedChoices,
  loggedMessages,
  MESSAGE_EVENTS,
  messageEvents,
} from './messages/event-messages.ts';
import { flattened } from './messages/indexed-messages.ts';
import type { Content } from './messages/message.ts';
import { toolCallPart } from './messages/shape-part.ts';
import { eventReading, parsed } from './read-value.ts';

export const toolInput = field<Content>('tool_input', [
  attribute('promptlane.input', asSent),
  ...attributes(
    [
      'gen_ai.tool.call.arguments',
      'langfuse.observation.input',
      'input.value',
      'ai.toolCall.args',
      'gcp.vertex.agent.tool_call_args',
    ],
    data,
  ),
  attribute('traceloop.entity.input', ofJsonText(data)),
  ...attributes(['mlflow.spanInputs', 'lmnr.span.input', 'gen_ai.prompt', 'tool_arguments'], data),
  event('gen_ai.tool.message', ofEvent('gen_ai.tool.message', 'content')),
  attribute('genkit:input', data),
]);

export const toolOutput = field<Content>('tool_output', [
  attribute('promptlane.output', asSent),
  ...attributes(['gen_ai.tool.call.result', 'langfuse.observation.output', 'output.value'], data),
  attribute('ai.toolCall.result', ofJsonText(data)),
  attribute('gcp.vertex.agent.tool_response', data),
  attribute('traceloop.entity.output', ofJsonText(data)),
  ...attributes(['mlflow.spanOutputs', 'lmnr.span.output', 'gen_ai.completion', 'tool_response'], data),
  event(CHOICE_EVENT, ofEvent(CHOICE_EVENT, 'message')),
  attribute('genkit:output', data),
]);

export const input = field<Content>('input', [
  attribute('promptlane.input', asSent),
  attribute('langfuse.observation.input', content('user')),
  attribute('gen_ai.input.messages', withSystemInstructions),
  event(DETAILS_EVENT, detailsInput),
  ...MESSAGE_EVENTS.map((name) => event(name, messageEvents)),
  event('gen_ai.content.prompt', ofEvent('gen_ai.content.prompt', 'gen_ai.prompt', content('user'))),
  indexed('llm.input_messages.', flattened('llm.input_messages.', 'user')),
  indexed('gen_ai.prompt.', flattened('gen_ai.prompt.', 'user')),
  ...attributes(['gcp.vertex.agent.llm_request', 'ai.prompt.messages', 'ai.prompt'], content('user')),
  ...attributes(['ai.values', 'ai.value'], ofJsonText(content('user'))),
  ...attributes(['mlflow.spanInputs', 'input.value', 'gen_ai.retrieval.query.text'], content('user')),
  attribute('traceloop.entity.input', ofJsonText(content('user'))),
  ...attributes(['lmnr.span.input', 'gen_ai.prompt', 'pydantic_ai.all_messages'], content('user')),
  attribute('gen_ai.system_instructions', instructionsOnly),
  ...attributes(['all_messages_events', 'genkit:input'], content('user')),
  attribute('events', loggedMessages),
]);

export const output = field<Content>('output', [
  attribute('promptlane.output', asSent),
  attribute('langfuse.observation.output', content('assistant')),
  attribute('gen_ai.output.messages', answers),
  event(DETAILS_EVENT, detailsOutput),
  event(CHOICE_EVENT, choiceEvents),
  event('gen_ai.content.completion', ofEvent('gen_ai.content.completion', 'gen_ai.completion', content('assistant'))),
  indexed('llm.output_messages.', flattened('llm.output_messages.', 'assistant')),
  indexed('gen_ai.completion.', flattened('gen_ai.completion.', 'assistant')),
  attribute('gcp.vertex.agent.llm_response', content('assistant')),
  attribute('ai.response.text', aiSdkAnswer),
  attribute('ai.response.object', data),
  attribute('ai.response.toolCalls', aiSdkAnswer),
  ...attributes(['ai.embedding', 'ai.embeddings'], ofJsonText(data)),
  ...attributes(['mlflow.spanOutputs', 'output.value', 'gen_ai.retrieval.documents'], content('assistant')),
  attribute('traceloop.entity.output', ofJsonText(content('assistant'))),
  ...attributes(['lmnr.span.output', 'gen_ai.completion', 'final_result', 'genkit:output'], content('assistant')),
  attribute('events', loggedChoices),
]);

/** Returns the input of the span. That of a tool is data; that of other kinds may be messages. */
export function readInput(reading: Reading): Content | undefined {
  return (reading.kind === 'tool' ? first(reading, toolInput) : undefined) ?? first(reading, input);
}

/** Returns the output of the span, as {@link readInput} returns its input. */
export function readOutput(reading: Reading): Content | undefined {
  return (reading.kind === 'tool' ? first(reading, toolOutput) : undefined) ?? first(reading, output);
}

/** Returns a reader for one attribute of the last event of a name. */
function ofEvent(name: string, key: string, read: Reader<Content> = data): Reader<Content> {
  return (_value, reading) => {
    const sent = reading.span.events.findLast((each) => each.name === name);
    if (sent === undefined) return undefined;
    const own = eventReading(reading, sent.attributes);
    const value = eventMember(sent.attributes, key, own);
    return value === undefined ? undefined : read(value, own);
  };
}

/**
 * Reads an answer of the AI SDK, which sends text and tool calls apart. With tool calls it becomes
 * a message, without them it stays text.
 */
function aiSdkAnswer(_value: AnyValue, reading: Reading): Content | undefined {
  const { attributes: sent } = reading.span;
  const text = sent.get('ai.response.text');
  const calls = parsed(sent.get('ai.response.toolCalls') ?? null, reading);
  const parts = Array.isArray(calls)
    ? calls.map((call) => toolCallPart(call, reading)).filter((part) => part !== undefined)
    : [];
  if (parts.length === 0) return data(text ?? null, reading);
  const said = typeof text === 'string' && text !== '' ? [{ type: 'text' as const, content: text }] : [];
  return ofMessages([{ role: 'assistant', parts: [...said, ...parts] }], reading);
}
