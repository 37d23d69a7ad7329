import type { Reading } from '../candidates.ts';
import { isObject, parsed } from '../read-value.ts';
import type { Part } from './message.ts';

type Json = Record<string, unknown>;
type Shape = (part: Json, reading: Reading) => Part | undefined;

/**
 * Converts one message part of any client to the stored format, or returns undefined when it is
 * empty. A part is recognized by its `type` (OpenAI, Anthropic, AI SDK, OpenTelemetry) or by one of
 * its members (Gemini, Bedrock, Genkit).
 */
export function shapePart(part: unknown, reading: Reading): Part | undefined {
  if (typeof part === 'string') return textPart(part);
  if (!isObject(part)) return undefined;
  const byType = typeof part.type === 'string' ? byTypeName.get(part.type) : undefined;
  if (byType !== undefined) return byType(part, reading);
  for (const [key, shape] of byMember) if (part[key] !== undefined && part[key] !== null) return shape(part, reading);
  return { type: 'other', value: part };
}

/** Returns whether the object names a type of parts that is known. */
export function isTypedPart(part: Json): boolean {
  return typeof part.type === 'string' && byTypeName.has(part.type);
}

/** Returns whether a value is a part: a text, or an object of a known type or with a known member. */
export function isPart(part: unknown): boolean {
  if (!isObject(part)) return typeof part === 'string';
  return isTypedPart(part) || byMember.some(([key]) => part[key] !== undefined);
}

/** Returns a message part of type `text`, or undefined without text. */
export function textPart(content: unknown): Part | undefined {
  return typeof content === 'string' && content !== '' ? { type: 'text', content } : undefined;
}

/** Returns a message part of type `reasoning`, or undefined without text. */
export function reasoningPart(content: unknown): Part | undefined {
  return typeof content === 'string' && content !== '' ? { type: 'reasoning', content } : undefined;
}

/**
 * Converts a tool call: `{id, function: {name, arguments}}` of OpenAI, `{toolCallId, toolName,
 * input}` of the AI SDK, `{id, name, args}` of LangChain.
 */
export function toolCallPart(call: unknown, reading: Reading): Part | undefined {
  if (!isObject(call)) return undefined;
  const at = isObject(call.function) ? call.function : call;
  const name = string(at.name ?? at.toolName ?? at.tool_name);
  const id = string(call.call_id ?? call.id ?? call.toolCallId ?? call.toolUseId ?? call.tool_call_id ?? call.ref);
  if (name === '' && id === '') return undefined;
  return { type: 'tool_call', id, name, arguments: structured(at.arguments ?? at.args ?? at.input ?? null, reading) };
}

/** Returns a message part with the response to a tool call. */
export function toolResponsePart(id: unknown, response: unknown, reading: Reading): Part {
  return { type: 'tool_call_response', id: string(id), response: structured(response ?? null, reading) };
}

/** Returns text or a number as text, and '' for anything else. */
export function string(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : '';
}

const text: Shape = (part) => textPart(part.content ?? part.text);
const reasoning: Shape = (part) =>
  reasoningPart(part.content ?? part.text ?? part.thinking ?? summaryText(part.summary));
const refusal: Shape = (part) => textPart(part.refusal);
const toolCall: Shape = (part, reading) => toolCallPart(part, reading) ?? { type: 'other', value: part };
const toolResponse: Shape = (part, reading) =>
  toolResponsePart(
    part.call_id ?? part.id ?? part.tool_use_id ?? part.toolCallId ?? part.toolUseId ?? part.ref,
    part.response ?? part.result ?? part.output ?? part.content,
    reading,
  );

const media: Shape = (part) => {
  const from = isObject(part.source) ? part.source : part;
  const mime = string(from.mime_type ?? from.mimeType ?? from.media_type ?? from.mediaType);
  const url = isObject(from.image_url) ? from.image_url.url : from.image_url;
  const uri = from.uri ?? from.url ?? url ?? from.fileUri ?? from.file_uri;
  if (uri !== undefined) return { type: 'uri', mime_type: mime, uri };
  const file = from.file_id ?? (isObject(from.file) ? from.file.file_id : undefined);
  if (file !== undefined) return { type: 'file', mime_type: mime, file_id: file };
  const content = from.content ?? from.data ?? from.image ?? from.bytes ?? from.input_audio;
  return content === undefined ? { type: 'other', value: part } : { type: 'blob', mime_type: mime, content };
};

const byTypeName = new Map<string, Shape>([
  ...['text', 'input_text', 'output_text'].map((type): [string, Shape] => [type, text]),
  ...['reasoning', 'thinking'].map((type): [string, Shape] => [type, reasoning]),
  ['refusal', refusal],
  ...['tool_call', 'tool_use', 'tool-call', 'function_call'].map((type): [string, Shape] => [type, toolCall]),
  ...['tool_call_response', 'tool_result', 'tool-result', 'function_call_output', 'function_result'].map(
    (type): [string, Shape] => [type, toolResponse],
  ),
  ...['blob', 'uri', 'file', 'image', 'image_url', 'input_image', 'input_audio', 'input_file', 'document'].map(
    (type): [string, Shape] => [type, media],
  ),
]);

/** Members that identify a message part without a `type`, most specific first. */
const byMember: readonly (readonly [string, Shape])[] = [
  ['functionCall', inner('functionCall', toolCall)],
  ['function_call', inner('function_call', toolCall)],
  ['toolUse', inner('toolUse', toolCall)],
  ['toolRequest', inner('toolRequest', toolCall)],
  ['functionResponse', inner('functionResponse', toolResponse)],
  ['function_response', inner('function_response', toolResponse)],
  ['toolResult', inner('toolResult', toolResponse)],
  ['toolResponse', inner('toolResponse', toolResponse)],
  ['inlineData', inner('inlineData', media)],
  ['inline_data', inner('inline_data', media)],
  ['fileData', inner('fileData', media)],
  ['file_data', inner('file_data', media)],
  ['image', inner('image', media)],
  ['document', inner('document', media)],
  ['reasoningContent', inner('reasoningContent', (part) => reasoningPart(nestedText(part.reasoningText)))],
  ['text', (part) => (part.thought === true ? reasoningPart(part.text) : textPart(part.text))],
];

function inner(key: string, shape: Shape): Shape {
  return (part, reading) => {
    const value = part[key];
    return isObject(value) ? shape(value, reading) : { type: 'other', value: part };
  };
}

function nestedText(value: unknown): unknown {
  return isObject(value) ? value.text : value;
}

function summaryText(summary: unknown): string {
  if (!Array.isArray(summary)) return '';
  return summary
    .map((each) => string(nestedText(each)))
    .filter(Boolean)
    .join('\n');
}

/** Parses arguments and results that are JSON text inside the JSON, as they often are. */
function structured(value: unknown, reading: Reading): unknown {
  if (typeof value !== 'string' || !(value.startsWith('{') || value.startsWith('['))) return value;
  return parsed(value, reading) ?? value;
}
