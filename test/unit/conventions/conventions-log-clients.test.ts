import { describe, expect, test } from 'vitest';
import type { LogRecord } from '../../../src/otlp/log-record.ts';
import { buildRecord, logged, sentAs } from '../../support/log-records.ts';
import { answer, call, contentOf, joined, said } from '../../support/logged-span.ts';

/** One conversation in the shapes of the clients that send logs. Most were read in their sources. */
const detailsName = 'gen_ai.client.inference.operation.details';
const functionCall = (args: unknown) => ({
  id: 'c1',
  type: 'function',
  function: { name: 'get_weather', arguments: args },
});
const asked = said('user', 'Weather in Paris?');
const called = said('assistant', call('c1', 'get_weather', { city: 'Paris' }));
const answered = said('tool', answer('c1', { tempC: 18 }));
const replied = { ...said('assistant', 'It is 18C.'), finish_reason: 'stop' };
const brief = said('system', 'Be brief.');

/** Records of clients up to the conventions of 1.36 have the name in an attribute. */
const named = (eventName: string, body: unknown, system = 'openai') =>
  logged(eventName, body, { 'event.name': eventName, 'gen_ai.system': system });
const json = (eventName: string, body: unknown) => named(eventName, JSON.stringify(body));
const details = (attributes: Record<string, unknown>, body: unknown = null) => logged(detailsName, body, attributes);

describe('messages one by one', () => {
  test.each<[string, LogRecord[]]>([
    [
      'JS instrumentation-openai, chat',
      [
        named('gen_ai.system.message', { content: 'Be brief.' }),
        named('gen_ai.user.message', { content: 'Weather in Paris?' }),
        named('gen_ai.assistant.message', { content: null, tool_calls: [functionCall('{"city":"Paris"}')] }),
        named('gen_ai.tool.message', { id: 'c1', content: '{"tempC":18}' }),
        named('gen_ai.choice', { finish_reason: 'stop', index: 0, message: { content: 'It is 18C.' } }),
      ],
    ],
    [
      'Elastic JS',
      [
        named('gen_ai.system.message', { role: 'system', content: 'Be brief.' }),
        named('gen_ai.user.message', { role: 'user', content: 'Weather in Paris?' }),
        named('gen_ai.assistant.message', {
          role: 'assistant',
          content: '',
          tool_calls: [functionCall('{"city":"Paris"}')],
        }),
        named('gen_ai.tool.message', { role: 'tool', content: '{"tempC":18}', id: 'c1' }),
        named('gen_ai.choice', {
          finish_reason: 'stop',
          index: 0,
          message: { role: 'assistant', content: 'It is 18C.' },
        }),
      ],
    ],
    [
      'Python vertexai',
      [
        named('gen_ai.system.message', { role: 'system', content: [{ type: 'text', content: 'Be brief.' }] }),
        named('gen_ai.user.message', { role: 'user', content: [{ text: 'Weather in Paris?' }] }),
        named('gen_ai.assistant.message', {
          role: 'model',
          content: [{ function_call: { id: 'c1', name: 'get_weather', args: { city: 'Paris' } } }],
          tool_calls: [functionCall({ city: 'Paris' })],
        }),
        named('gen_ai.tool.message', { role: 'function', id: 'c1', content: { tempC: 18 } }),
        named('gen_ai.choice', {
          ...{ index: 0, finish_reason: 'stop', tool_calls: null },
          message: { role: 'model', content: [{ text: 'It is 18C.' }] },
        }),
      ],
    ],
    [
      'Python botocore',
      [
        named('gen_ai.system.message', { content: [{ text: 'Be brief.' }] }),
        named('gen_ai.user.message', { content: [{ text: 'Weather in Paris?' }] }),
        named('gen_ai.assistant.message', {
          content: [{ toolUse: { toolUseId: 'c1', name: 'get_weather', input: { city: 'Paris' } } }],
          tool_calls: [functionCall({ city: 'Paris' })],
        }),
        named('gen_ai.tool.message', { id: 'c1', content: '{"tempC":18}' }),
        named('gen_ai.user.message', {
          content: [{ toolResult: { toolUseId: 'c1', content: [{ text: '{"tempC":18}' }] } }],
        }),
        named('gen_ai.choice', { index: 0, finish_reason: 'stop', message: { content: [{ text: 'It is 18C.' }] } }),
      ],
    ],
    [
      'OpenLLMetry with attributes off',
      [
        named('gen_ai.system.message', { content: 'Be brief.' }),
        named('gen_ai.user.message', { content: 'Weather in Paris?' }),
        named('gen_ai.user.message', {
          role: 'assistant',
          content: '',
          tool_calls: [functionCall('{"city":"Paris"}')],
        }),
        named('gen_ai.tool.message', { content: '{"tempC":18}', id: 'c1' }),
        named('gen_ai.choice', {
          index: 0,
          finish_reason: 'stop',
          message: { content: 'It is 18C.' },
          tool_calls: null,
        }),
      ],
    ],
    [
      '.NET Microsoft.Extensions.AI',
      [
        json('gen_ai.system.message', { content: 'Be brief.' }),
        json('gen_ai.user.message', { content: 'Weather in Paris?' }),
        json('gen_ai.assistant.message', { tool_calls: [functionCall({ city: 'Paris' })] }),
        json('gen_ai.tool.message', { id: 'c1', content: { tempC: 18 } }),
        json('gen_ai.choice', { finish_reason: 'stop', index: 0, message: { content: 'It is 18C.' } }),
      ],
    ],
    [
      'Microsoft Agent Framework, Python',
      [
        json('gen_ai.system.message', { role: 'system', content: 'Be brief.' }),
        named('gen_ai.user.message', { role: 'user', contents: [{ type: 'text', text: 'Weather in Paris?' }] }),
        json('gen_ai.assistant.message', {
          role: 'assistant',
          contents: [{ type: 'function_call', call_id: 'c1', name: 'get_weather', arguments: '{"city":"Paris"}' }],
        }),
        named('gen_ai.tool.message', {
          role: 'tool',
          contents: [{ type: 'function_result', call_id: 'c1', result: { tempC: 18 } }],
        }),
        json('gen_ai.choice', {
          ...{ index: 0, finish_reason: 'stop' },
          message: { role: 'assistant', contents: [{ type: 'text', text: 'It is 18C.' }] },
        }),
      ],
    ],
  ])('of %s are a conversation', (_client, records) =>
    expect(contentOf(records)).toEqual({ input: [brief, asked, called, answered], output: [replied] }),
  );

  test('of Python google-genai have parts, or the placeholder of content that was not captured', () => {
    const part = (text: string, role: string) => ({ content: { parts: [{ text }], role } });
    const records = [
      named('gen_ai.system.message', { content: { parts: [{ text: 'Be brief.' }] } }, 'gemini'),
      named('gen_ai.user.message', part('Weather in Paris?', 'user'), 'gemini'),
      named('gen_ai.user.message', {
        content: {
          parts: [{ function_call: { id: 'c1', name: 'get_weather', args: { city: 'Paris' } } }],
          role: 'model',
        },
      }),
      named('gen_ai.choice', { index: 0, finish_reason: 'STOP', ...part('It is 18C.', 'model') }, 'gemini'),
    ];
    expect(contentOf(records)).toEqual({
      input: [brief, asked, called],
      output: [{ ...replied, finish_reason: 'STOP' }],
    });
    const elided = [
      named('gen_ai.user.message', { content: '<elided>' }),
      named('gen_ai.choice', { index: 0, content: '<elided>', finish_reason: 'STOP' }),
    ];
    expect(contentOf(elided)).toEqual({ input: '', output: '' });
  });

  test('of Java send the developer as a system message with this role', () =>
    expect(contentOf([named('gen_ai.system.message', { role: 'developer', content: 'Be brief.' })]).input).toEqual([
      said('developer', 'Be brief.'),
    ]));

  test('of Python have no time, no severity and no body where content is off', () => {
    const bare = { severityNumber: 0, timeUnixNano: 0n, attributes: new Map([['gen_ai.system', 'openai']]) };
    const choice = sentAs({ index: 0, finish_reason: 'stop', message: { role: 'assistant' } });
    const records = [
      buildRecord({ ...bare, eventName: 'gen_ai.user.message' }),
      buildRecord({ ...bare, eventName: 'gen_ai.choice', body: choice }),
    ];
    expect(contentOf(records)).toEqual({ input: '', output: '' });
  });
});

describe('operation details', () => {
  const instructions = [{ type: 'text', content: 'Be brief.' }];
  const usage = {
    'gen_ai.usage.input_tokens': 42,
    'gen_ai.request.model': 'm',
    'gen_ai.response.finish_reasons': ['stop'],
  };

  test('of JS instrumentation-openai, responses: instructions are on the span and in the event', () => {
    const item = { type: 'tool_call', id: 'fc_1', name: 'get_weather', arguments: '{"city":"Paris"}', call_id: 'c1' };
    const result = { type: 'tool_call_response', id: null, response: '{"tempC":18}', call_id: 'c1' };
    const records = [
      details({ 'gen_ai.input.messages': [brief, asked, said('assistant', item), said('user', result)] }),
      details({ 'gen_ai.output.messages': [replied] }),
    ];
    expect(contentOf(records, { 'gen_ai.system_instructions': 'Be brief.' })).toEqual({
      input: [brief, asked, called, said('user', answer('c1', { tempC: 18 }))],
      output: [replied],
    });
  });

  test('of Python util-genai: one event with everything', () =>
    expect(
      contentOf([
        details({
          ...usage,
          'gen_ai.system_instructions': instructions,
          'gen_ai.input.messages': [asked],
          'gen_ai.output.messages': [replied],
        }),
      ]),
    ).toEqual({ input: [brief, asked], output: [replied] }));

  test('of Python util-genai that uploads content: addresses and a warning', () =>
    expect(joined([details({ ...usage, 'gen_ai.input.messages_ref': 'file:///in.jsonl' })]).warnings).toEqual([
      'content_elsewhere',
    ]));

  test('of Google ADK: bytes are a blob', () => {
    const image = { type: 'blob', mime_type: 'image/png', data: new Uint8Array([1, 2, 3]) };
    expect(contentOf([details({ 'gen_ai.input.messages': [said('user', image)] })]).input).toEqual([
      said('user', { type: 'blob', mime_type: 'image/png', content: 'AQID' }),
    ]);
  });

  test('of OpenLIT: JSON text beside the same on the span, with the name of the event as body', () => {
    const content = {
      'gen_ai.input.messages': JSON.stringify([asked]),
      'gen_ai.output.messages': JSON.stringify([replied]),
      'gen_ai.system_instructions': JSON.stringify(instructions),
    };
    const record = details({ ...content, 'event.name': detailsName }, detailsName);
    expect(contentOf([record], content)).toEqual({ input: [brief, asked], output: [replied] });
    const judged = logged('gen_ai.evaluation.result', 'gen_ai.evaluation.result', {
      'gen_ai.evaluation.name': 'toxicity',
      'gen_ai.evaluation.score.value': 0.25,
      'gen_ai.evaluation.score.label': 'no',
      'gen_ai.evaluation.explanation': 'It is polite.',
    });
    expect(JSON.parse(joined([record, judged]).evaluations)).toEqual([
      { target: 'span', name: 'toxicity', label: 'no', score: 0.25, explanation: 'It is polite.' },
    ]);
  });

  test('of Gemini CLI: a sentence as body, JSON text, and the role system for what the model said', () => {
    const record = details(
      {
        'event.name': detailsName,
        'gen_ai.input.messages': JSON.stringify([asked]),
        'gen_ai.output.messages': JSON.stringify([{ ...replied, role: 'system' }]),
        'gen_ai.request.seed': null,
      },
      'GenAI operation details from gemini-2.5-pro. Status: 200. Duration: 7ms.',
    );
    expect(contentOf([record])).toEqual({ input: [asked], output: [replied] });
  });
});
