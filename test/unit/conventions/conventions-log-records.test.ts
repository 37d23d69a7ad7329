import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/domains/conventions/limits.ts';
import { normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import { isEvaluationResult, isGenAiRecord } from '../../../src/domains/conventions/reads.ts';
import { buildRecord, logged } from '../../support/log-records.ts';
import { answer, call, contentOf, joined, said, withReaders } from '../../support/logged-span.ts';
import { buildEvent, buildSpan } from '../../support/span-from-json.ts';

/** The rules of log records; the ids are those of the requirements. */
const details = (attributes: Record<string, unknown>, body?: unknown) =>
  logged('gen_ai.client.inference.operation.details', body, attributes);
const user = (body: unknown, attributes?: Record<string, unknown>) => logged('gen_ai.user.message', body, attributes);
const choice = (body: unknown) => logged('gen_ai.choice', body);
const input = (...records: Parameters<typeof joined>[0]) => contentOf(records).input;
const output = (...records: Parameters<typeof joined>[0]) => contentOf(records).output;

describe('names of events (L16)', () => {
  test.each([
    'gen_ai.system.message',
    'gen_ai.user.message',
    'gen_ai.assistant.message',
    'gen_ai.tool.message',
    'gen_ai.developer.message',
    'gen_ai.function.message',
    'gen_ai.critic.message',
    'gen_ai.choice',
    'gen_ai.client.inference.operation.details',
    'gen_ai.content.prompt',
    'gen_ai.content.completion',
    'gen_ai.evaluation.result',
    'exception',
    'gen_ai.client.operation.exception',
  ])('%s has a meaning', (name) => expect(isGenAiRecord(name)).toBe(true));

  test.each([
    '',
    'gen_ai.message',
    'gen_ai..message',
    'gen_ai.user.message.x',
    'GEN_AI.choice',
    'gemini_cli.api_request',
  ])('"%s" has none, and such a record changes nothing', (name) => {
    expect(isGenAiRecord(name)).toBe(false);
    expect(joined([logged(name, { content: 'Hi' })])).toEqual(joined([]));
  });

  test('only that of a result is an evaluation', () =>
    expect(['gen_ai.evaluation.result', 'gen_ai.choice'].map(isEvaluationResult)).toEqual([true, false]));

  test('of content events of old are read as span events of these names', () =>
    expect(
      contentOf([
        logged('gen_ai.content.prompt', null, { 'gen_ai.prompt': '[{"role":"user","content":"Hi"}]' }),
        logged('gen_ai.content.completion', 'Hello'),
      ]),
    ).toEqual({ input: [said('user', 'Hi')], output: 'Hello' }));

  test('of messages with a role that nobody defined have this role', () =>
    expect(input(logged('gen_ai.developer.message', { content: 'Be brief.' }), user({ content: 'Hi' }))).toEqual([
      said('developer', 'Be brief.'),
      said('user', 'Hi'),
    ]));
});

describe('a body that is a text (L14)', () => {
  test('of a message is its text, unless it is JSON or the name of the event', () => {
    expect(input(user('Hi'))).toEqual([said('user', 'Hi')]);
    expect(input(user('{"content":"Hi"}'))).toEqual([said('user', 'Hi')]);
    expect(input(user('"Hi"'))).toEqual([said('user', 'Hi')]);
    expect(input(user('gen_ai.user.message'))).toBe('');
    expect(input(user('{}'))).toBe('');
    expect(input(user('{"city":"Paris"}'))).toEqual([said('user', '{"city":"Paris"}')]);
  });

  test('of a choice is what the model said', () =>
    expect(output(choice('Hello'))).toEqual([said('assistant', 'Hello')]));

  test('of operation details and of evaluations is no content', () => {
    expect(
      joined([details({}, 'GenAI operation details from openai'), logged('gen_ai.evaluation.result', 'Good')]),
    ).toEqual(joined([]));
  });

  test('beside content in the attributes is no content', () =>
    expect(input(user('A user asked something.', { content: 'Hi' }))).toEqual([said('user', 'Hi')]));
});

test('L15: empty values are as absent', () => {
  const body = { content: 'Hi', tool_calls: null, role: null, id: null };
  expect(input(user(body, { content: null, 'gen_ai.request.seed': null }))).toEqual([said('user', 'Hi')]);
  expect(input(details({ 'gen_ai.input.messages': null, 'gen_ai.system_instructions': null }))).toBe('');
});

test.each([
  ['a key-value list', user({ content: 'Hi' })],
  ['JSON text', user('{"content":"Hi"}')],
  ['JSON text in gen_ai.event.content', user(null, { 'gen_ai.event.content': '{"content":"Hi"}' })],
  ['attributes', user(null, { content: 'Hi' })],
  ['attributes beside an empty body', user({}, { content: 'Hi' })],
])('L17: the members of a message event are in %s', (_form, record) =>
  expect(input(record)).toEqual([said('user', 'Hi')]),
);

test.each<[string, unknown]>([
  ['a text', 'Hi'],
  ['a list of parts', [{ type: 'text', text: 'Hi' }]],
  ['a list of texts', ['Hi']],
  ['one part', { type: 'text', content: 'Hi' }],
  ["Google's parts", { parts: [{ text: 'Hi' }], role: 'user' }],
  ['JSON text of a list', '[{"type":"text","text":"Hi"}]'],
  ['JSON text of one part', '{"type":"text","content":"Hi"}'],
  ["JSON text of Google's parts", '{"parts":[{"text":"Hi"}],"role":"user"}'],
])('L18: content is %s', (_form, content) => expect(input(user({ content }))).toEqual([said('user', 'Hi')]));

test('L19: the role in the body wins over that in the name of the event', () => {
  expect(input(logged('gen_ai.system.message', { role: 'developer', content: 'Be brief.' }))).toEqual([
    said('developer', 'Be brief.'),
  ]);
  expect(input(user({ content: { role: 'model', parts: [{ text: 'Hello' }] } }))).toEqual([said('assistant', 'Hello')]);
});

test('L20: tool calls have arguments as JSON text or as a structure, answers the id of their call', () => {
  const calls = [
    { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
    { id: 'c2', type: 'function', function: { name: 'weather', arguments: { city: 'Rome' } } },
  ];
  expect(
    input(
      logged('gen_ai.assistant.message', { tool_calls: calls }),
      logged('gen_ai.tool.message', { id: 'c1', content: '{"tempC":18}' }),
      logged('gen_ai.tool.message', { id: 'c2', content: { tempC: 24 } }),
    ),
  ).toEqual([
    said('assistant', call('c1', 'weather', { city: 'Paris' }), call('c2', 'weather', { city: 'Rome' })),
    said('tool', answer('c1', { tempC: 18 })),
    said('tool', answer('c2', { tempC: 24 })),
  ]);
});

test('L21: calls and answers that Bedrock sends twice are taken once', () => {
  const calls = [{ id: 't1', type: 'function', function: { name: 'weather', arguments: { city: 'Paris' } } }];
  const block = { toolUse: { toolUseId: 't1', name: 'weather', input: { city: 'Paris' } } };
  const result = [{ text: '18C' }];
  expect(
    contentOf([
      user({ content: [{ text: 'Weather?' }] }),
      logged('gen_ai.assistant.message', { content: [{ text: 'I look.' }, block], tool_calls: calls }),
      logged('gen_ai.tool.message', { id: 't1', content: result }),
      user({ content: [{ toolResult: { toolUseId: 't1', content: result } }] }),
      choice({ index: 0, finish_reason: 'tool_use', message: { content: [block], tool_calls: calls } }),
    ]),
  ).toEqual({
    input: [
      said('user', 'Weather?'),
      said('assistant', 'I look.', call('t1', 'weather', { city: 'Paris' })),
      said('tool', answer('t1', '18C')),
    ],
    output: [{ ...said('assistant', call('t1', 'weather', { city: 'Paris' })), finish_reason: 'tool_use' }],
  });
});

describe('content that was not captured (L22)', () => {
  test.each<[string, unknown]>([
    ['no body', null],
    ['an empty body', {}],
    ['empty content', { content: '' }],
    ['an empty list', { content: [] }],
    ['a part without content', { content: [{ type: 'text', content: null }] }],
    ['a placeholder', { content: '<elided>' }],
  ])('as %s leaves nothing', (_form, body) =>
    expect(contentOf([user(body), choice({ index: 0, finish_reason: 'stop', message: body })])).toEqual({
      input: '',
      output: '',
    }),
  );

  test('leaves the names and ids of tool calls', () => {
    const bare = { tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather' } }] };
    expect(
      contentOf([
        user({}),
        logged('gen_ai.assistant.message', bare),
        logged('gen_ai.tool.message', { id: 'c1' }),
        choice({ finish_reason: 'tool_calls', index: 0, message: bare }),
      ]),
    ).toEqual({
      input: [said('assistant', call('c1', 'weather', null))],
      output: [{ ...said('assistant', call('c1', 'weather', null)), finish_reason: 'tool_calls' }],
    });
  });

  test.each(['as a structure', 'as JSON text'])('of operation details leaves out messages, %s', (form) => {
    const send = (value: unknown) => (form === 'as JSON text' ? JSON.stringify(value) : value);
    const empty = { role: 'user', parts: [{ type: 'text', content: null }] };
    const asked = { role: 'assistant', parts: [{ type: 'tool_call', id: 'fc', name: 'weather', call_id: 'c1' }] };
    expect(input(details({ 'gen_ai.input.messages': send([empty]) }))).toBe('');
    expect(input(details({ 'gen_ai.input.messages': send([{ role: 'user' }]) }))).toBe('');
    expect(input(details({ 'gen_ai.input.messages': send([empty, { role: 'user' }, asked]) }))).toEqual([
      said('assistant', call('c1', 'weather', null)),
    ]);
  });
});

test('L23: several texts of one message are several parts', () =>
  expect(
    input(
      user({
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      }),
    ),
  ).toEqual([said('user', 'a', 'b')]));

describe('choices (L24)', () => {
  const calls = [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }];
  const asked = call('c1', 'weather', {});

  test.each<[string, object]>([
    ['in message', { message: { content: 'Hello' } }],
    ['as the text of message', { message: 'Hello' }],
    ['in message as JSON text', { message: '{"role":"assistant","content":"Hello"}' }],
    ['directly in the body', { content: 'Hello' }],
    ["as Google's parts", { content: { parts: [{ text: 'Hello' }], role: 'model' } }],
  ])('have what was said %s', (_form, body) =>
    expect(output(choice({ index: 0, finish_reason: 'STOP', ...body }))).toEqual([
      { ...said('assistant', 'Hello'), finish_reason: 'STOP' },
    ]),
  );

  test.each<[string, object]>([
    ['inside the message', { message: { tool_calls: calls } }],
    ['beside it', { message: { role: 'assistant' }, tool_calls: calls }],
    ['in both places', { message: { tool_calls: calls }, tool_calls: calls }],
    ['without a message', { tool_calls: calls }],
    ['in a message of JSON text', { message: JSON.stringify({ role: 'assistant', tool_calls: calls }) }],
  ])('have their tool calls %s', (_place, body) => expect(output(choice(body))).toEqual([said('assistant', asked)]));

  test('are output messages by index, then in order', () => {
    const says = (content: string, index?: number) => choice({ message: { content }, index });
    expect(output(says('c', 2), says('a', 0), says('b', 0))).toEqual(
      ['a', 'b', 'c'].map((each) => said('assistant', each)),
    );
  });

  test('that are alternatives may call with the same id', () =>
    expect(output(choice({ index: 0, tool_calls: calls }), choice({ index: 1, tool_calls: calls }))).toHaveLength(2));
});

describe('operation details (L25, L26)', () => {
  const hello = { role: 'user', parts: [{ type: 'text', content: 'Hi' }] };
  const reply = { role: 'assistant', parts: [{ type: 'text', content: 'Hello' }], finish_reason: 'stop' };

  test.each(['as structures', 'as JSON text'])('have messages and instructions %s', (form) => {
    const send = (value: unknown) => (form === 'as JSON text' ? JSON.stringify(value) : value);
    const record = details({
      'gen_ai.system_instructions': send([{ type: 'text', content: 'Be brief.' }]),
      'gen_ai.input.messages': send([hello]),
      'gen_ai.output.messages': send([reply]),
    });
    expect(contentOf([record])).toEqual({ input: [said('system', 'Be brief.'), hello], output: [reply] });
  });

  test('have the id of a call in call_id before id, and bytes as blobs', () => {
    const parts = [
      { type: 'tool_call', id: 'fc_1', call_id: 'c1', name: 'draw', arguments: {} },
      { type: 'blob', mime_type: 'image/png', content: new Uint8Array([1, 2, 3]) },
    ];
    const answered = [{ type: 'tool_call_response', id: null, call_id: 'c1', response: 'ok' }];
    const sent = [
      { role: 'assistant', parts },
      { role: 'user', parts: answered },
    ];
    expect(input(details({ 'gen_ai.input.messages': sent }))).toEqual([
      said('assistant', call('c1', 'draw', {}), { type: 'blob', mime_type: 'image/png', content: 'AQID' }),
      said('user', answer('c1', 'ok')),
    ]);
  });

  test('of one call are joined in order, and a list that equals an earlier one is taken once', () => {
    const second = { role: 'assistant', parts: [call('c1', 'weather', {})] };
    expect(
      contentOf([
        details({ 'gen_ai.input.messages': [hello] }),
        details({ 'gen_ai.output.messages': [reply] }),
        details({ 'gen_ai.input.messages': JSON.stringify([hello]), 'gen_ai.output.messages': [second] }),
        details({ 'gen_ai.input.messages': [said('user', 'More')], 'gen_ai.output.messages': [second] }),
      ]),
    ).toEqual({ input: [hello, said('user', 'More')], output: [reply, second] });
  });

  test('that are no list of messages are kept as text', () =>
    expect(contentOf([details({ 'gen_ai.input.messages': 'Hi', 'gen_ai.output.messages': [{ foo: 1 }] })])).toEqual({
      input: [said('user', 'Hi')],
      output: [said('assistant', '[{"foo":1}]')],
    }));
});

describe('system instructions (L27)', () => {
  const hello = said('user', 'Hi');
  const both = [said('system', 'Be brief.'), hello];

  test('are first and once, whether or not the messages begin with them', () => {
    for (const messages of [[hello], both]) {
      const sent = { 'gen_ai.system_instructions': 'Be brief.', 'gen_ai.input.messages': messages };
      expect(input(details(sent))).toEqual(both);
      expect(input(details(sent), details(sent))).toEqual(both);
      expect(contentOf([], { ...sent, 'gen_ai.input.messages': JSON.stringify(messages) }).input).toEqual(both);
    }
  });

  test('that differ from the first message are another one', () =>
    expect(contentOf([], { 'gen_ai.system_instructions': 'Be kind.', 'gen_ai.input.messages': both }).input).toEqual([
      said('system', 'Be kind.'),
      ...both,
    ]));
});

test('L28: the roles model and system of an output message mean assistant', () => {
  const sent = ['model', 'system'].map((role) => ({ role, parts: [{ type: 'text', content: role }] }));
  const expected = [said('assistant', 'model'), said('assistant', 'system')];
  expect(output(details({ 'gen_ai.output.messages': JSON.stringify(sent) }))).toEqual(expected);
  expect(output(...sent.map(({ role }) => choice({ message: { role, content: role } })))).toEqual(expected);
  expect(contentOf([], { 'gen_ai.output.messages': JSON.stringify(sent) }).output).toEqual(expected);
});

describe('content that was uploaded elsewhere (L29)', () => {
  const refs = { 'gen_ai.input.messages_ref': 's3://b/in', 'gen_ai.output.messages_ref': 's3://b/out' };

  test('is a warning, by an attribute of the span or of a record', () => {
    expect(joined([], refs)).toMatchObject({ input: '', output: '', warnings: ['content_elsewhere'] });
    expect(joined([details(refs)])).toMatchObject({ input: '', output: '', warnings: ['content_elsewhere'] });
  });

  test('is none where the field has content, or the address is empty', () => {
    const records = [user({ content: 'Hi' }), choice({ message: 'Hello' })];
    expect(joined(records, refs).warnings).toEqual([]);
    expect(joined([], { 'gen_ai.input.messages_ref': null }).warnings).toEqual([]);
  });
});

describe('what records never change (L30)', () => {
  test('is everything that only spans say', () => {
    const { input, inputPreview, ...rest } = joined([
      details({
        'gen_ai.input.messages': [said('user', 'Hi')],
        'gen_ai.request.model': 'other',
        'gen_ai.provider.name': 'other',
        'gen_ai.usage.input_tokens': 5,
        'gen_ai.conversation.id': 'c',
        'gen_ai.response.id': 'r',
        'gen_ai.prompt.name': 'p',
        'error.type': 'x',
      }),
      logged('exception', null, { 'exception.type': 'E', 'exception.message': 'no' }),
    ]);
    const { input: _input, inputPreview: _preview, ...without } = joined([]);
    expect([inputPreview, rest]).toEqual(['Hi', without]);
    expect(JSON.parse(input)).toHaveLength(1);
  });

  test('but a failed span without details has those of its exception', () => {
    const thrown = { 'exception.type': 'E', 'exception.message': 'no', 'exception.stacktrace': 'at x' };
    for (const name of ['exception', 'gen_ai.client.operation.exception']) {
      expect(joined([logged(name, 'It failed.', thrown)], {}, { statusCode: 2 })).toMatchObject({
        ...{ status: 'error', errorType: 'E', errorMessage: 'no', errorStack: 'at x' },
      });
    }
    const own = joined(
      [logged('exception', null, thrown)],
      { 'error.type': 'own' },
      { statusCode: 2, statusMessage: 'm' },
    );
    expect(own).toMatchObject({ errorType: 'own', errorMessage: 'm', errorStack: 'at x' });
  });
});

describe('what cannot be read (L31)', () => {
  test('is kept as an unknown part, or as text', () => {
    expect(input(user({ foo: 'bar' }))).toEqual([said('user', { type: 'other', value: { foo: 'bar' } })]);
    expect(input(user({ content: { foo: 'bar' } }))).toEqual([said('user', { type: 'other', value: { foo: 'bar' } })]);
    expect(input(user(['Hi']))).toEqual([said('user', 'Hi')]);
    expect(input(user(7))).toEqual([said('user', '7')]);
    expect(input(user(new Uint8Array([1])))).toEqual([said('user', { type: 'blob', mime_type: '', content: 'AQ==' })]);
  });

  test('over the limit of values is kept as text with a warning, and costs no other record', () => {
    const many = `[${'{},'.repeat(limits.spanValuesMax)}{}]`;
    const found = joined([user({ content: many }), user({ content: 'Hi' })]);
    expect(found).toMatchObject({ inputPreview: 'Hi', warnings: expect.arrayContaining(['json_unparsed']) });
    expect(found.input).toContain('{},{},{}');
  });

  test('over the limit of values of the body is kept as text with a warning', () => {
    const budget = { values: 3 };
    const sent = JSON.stringify([said('user', 'Hi')]);
    const found = normalizeSpan(buildSpan(), budget, withReaders([details({ 'gen_ai.input.messages': sent })]));
    expect(found).toMatchObject({ inputPreview: sent, warnings: ['json_unparsed'] });
    expect(budget.values).toBe(3);
  });
});

describe('precedence', () => {
  const records = [
    details({
      'gen_ai.input.messages': [said('user', 'logged')],
      'gen_ai.output.messages': [said('assistant', 'logged')],
    }),
  ];

  test('L32: what the span carries wins, each field alone', () => {
    expect(contentOf(records, { 'gen_ai.input.messages': [said('user', 'own')] })).toEqual({
      input: [said('user', 'own')],
      output: [said('assistant', 'logged')],
    });
    const events = [buildEvent('gen_ai.choice', { message: 'own' })];
    expect(contentOf(records, {}, { events })).toEqual({
      input: [said('user', 'logged')],
      output: [said('assistant', 'own')],
    });
  });

  test('L33: own system instructions alone are no content, and come first', () => {
    const own = { 'gen_ai.system_instructions': 'Be brief.' };
    expect(contentOf(records, own).input).toEqual([said('system', 'Be brief.'), said('user', 'logged')]);
    expect(contentOf([choice('Hello')], own).input).toEqual([said('system', 'Be brief.')]);
    const same = [logged('gen_ai.system.message', { content: 'Be brief.' }), user({ content: 'Hi' })];
    expect(contentOf(same, own).input).toEqual([said('system', 'Be brief.'), said('user', 'Hi')]);
    expect(
      contentOf([logged('gen_ai.content.prompt', 'Hi')], { 'gen_ai.input.messages': [said('system', 'Be brief.')] })
        .input,
    ).toEqual([said('system', 'Be brief.'), said('user', 'Hi')]);
  });

  test('L34: operation details come before message events', () =>
    expect(contentOf([user({ content: 'event' }), choice('event'), ...records])).toEqual({
      input: [said('user', 'logged')],
      output: [said('assistant', 'logged')],
    }));

  test('a tool has its call and its result from its records', () => {
    const tool = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'weather' };
    const sent = [logged('gen_ai.tool.message', { content: { city: 'Paris' } }), choice({ message: '18C' })];
    expect(contentOf(sent, tool)).toEqual({ input: '{"city":"Paris"}', output: '18C' });
    expect(contentOf(sent, { ...tool, 'gen_ai.tool.call.arguments': '{}x', 'gen_ai.tool.call.result': 'own' })).toEqual(
      {
        input: '{}x',
        output: 'own',
      },
    );
  });
});

describe('evaluations (L16)', () => {
  const relevance = { 'gen_ai.evaluation.name': 'Relevance', 'gen_ai.evaluation.score.value': 4.5 };
  const result = (attributes: Record<string, unknown>) => logged('gen_ai.evaluation.result', null, attributes);

  test('of records stand beside those of the span, and equal ones once', () => {
    const events = [buildEvent('gen_ai.evaluation.result', relevance)];
    const records = [
      result(relevance),
      result({ 'gen_ai.evaluation.name': 'Safe', 'gen_ai.evaluation.score.label': 'pass' }),
    ];
    const own = { 'annotations.0.annotation.name': 'own', 'annotations.0.annotation.label': 'x' };
    expect(JSON.parse(joined(records, own, { events }).evaluations)).toEqual([
      { target: 'span', name: 'Relevance', score: 4.5 },
      { target: 'span', name: 'Safe', label: 'pass' },
      { target: 'span', name: 'own', label: 'x' },
    ]);
  });
});

describe('more messages than are shown (L54)', () => {
  const count = limits.messagesMax + 5;
  const first = said('system', 'Be brief.');
  const newest = Array.from({ length: limits.messagesMax - 1 }, (_, i) => said('user', `m${i + 6}`));

  test.each<[string, Parameters<typeof joined>[0]]>([
    [
      'message events',
      [
        logged('gen_ai.system.message', { content: 'Be brief.' }),
        ...Array.from({ length: count }, (_, i) => user({ content: `m${i}` })),
      ],
    ],
    [
      'one list of operation details',
      [
        details({
          'gen_ai.input.messages': [first, ...Array.from({ length: count }, (_, i) => said('user', `m${i}`))],
        }),
      ],
    ],
    [
      'many operation details',
      [
        details({ 'gen_ai.system_instructions': 'Be brief.' }),
        ...Array.from({ length: count }, (_, i) => details({ 'gen_ai.input.messages': [said('user', `m${i}`)] })),
      ],
    ],
  ])('as %s: the system messages and the newest others', (_form, records) => {
    const found = joined(records);
    expect(JSON.parse(found.input)).toEqual([first, ...newest]);
    expect(found.warnings).toEqual(['messages_truncated']);
  });

  test('with the instructions of the span in front are as many', () => {
    const records = Array.from({ length: count }, (_, i) => user({ content: `m${i}` }));
    expect(JSON.parse(joined(records, { 'gen_ai.system_instructions': 'Be brief.' }).input)).toEqual([
      first,
      ...newest,
    ]);
  });

  test.each([
    ['in a record', [user({ content: Array(1_001).fill({ a: 1 }) })], {}, 'user'],
    [
      'in the instructions',
      [],
      { 'gen_ai.system_instructions': JSON.stringify(Array(1_001).fill({ a: 1 })) },
      'system',
    ],
  ])('and more than 1,000 parts %s stay as they were sent, in one part', (_where, records, attributes, role) => {
    const found = joined(records, attributes);
    expect(JSON.parse(found.input)).toEqual([{ role, parts: [{ type: 'other', value: Array(1_001).fill({ a: 1 }) }] }]);
  });

  test('than fit into a mebibyte are the newest', () => {
    const records = Array.from({ length: 3 }, (_, i) => user({ content: `${i} ${'x'.repeat(600_000)}` }));
    const found = joined([logged('gen_ai.system.message', { content: 'Be brief.' }), ...records]);
    const shown: { parts: { content: string }[] }[] = JSON.parse(found.input);
    expect(shown.map(({ parts }) => parts[0]?.content.slice(0, 9))).toEqual(['Be brief.', '2 xxxxxxx']);
    expect(found.warnings).toEqual(['messages_truncated']);
  });
});

test('L12: the name of the record counts where its attribute says another', () =>
  expect(
    input(
      buildRecord({
        eventName: 'gen_ai.user.message',
        body: 'Hi',
        attributes: new Map([['event.name', 'gen_ai.tool.message']]),
      }),
    ),
  ).toEqual([said('user', 'Hi')]));

test('L31: content that is no message is left out with a warning', () => {
  for (const content of [7, [[1]], true]) {
    const found = joined([logged('gen_ai.user.message', { content })]);
    expect([found.input, found.warnings]).toEqual(['', ['message_unread']]);
  }
});
