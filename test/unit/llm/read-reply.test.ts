import { describe, expect, test } from 'vitest';
import { estimateTokens, readReply } from '../../../src/llm/read-reply.ts';

const reply = (content: unknown, rest: object = {}) => ({
  choices: [{ finish_reason: 'stop', message: { role: 'assistant', content } }],
  ...rest,
});

describe('a response of a chat model', () => {
  test('has its text and what was billed', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
    const read = readReply(reply('hi', { usage }));
    expect(read).toEqual({ text: 'hi', finishReason: 'stop', usage: { inputTokens: 3, outputTokens: 1 } });
  });

  test.each([
    ['parts', [{ type: 'text', text: 'a' }, { type: 'image' }, { type: 'text', text: 'b' }], 'ab'],
    ['nothing', null, ''],
  ])('may have %s as its content', (_, content, text) => {
    expect(readReply(reply(content))?.text).toBe(text);
  });

  test('may have further choices, which are not read', () => {
    const [first] = reply('hi').choices;
    expect(readReply({ choices: [first, {}, 1, null] })?.text).toBe('hi');
  });

  test('may have a thousand parts; more are not looked at', () => {
    const parts = (count: number) => Array.from({ length: count }, () => ({ type: 'text', text: 'a' }));
    expect(readReply(reply(parts(1_000)))?.text).toHaveLength(1_000);
    let looks = 0;
    const part = {
      get text() {
        looks++;
        return 'a';
      },
    };
    expect(readReply(reply([...parts(1_000), part]))).toBeUndefined();
    expect(looks).toBe(0);
  });

  test('has billed no output if its text is empty', () => {
    expect(readReply(reply('', { usage: { prompt_tokens: 3, completion_tokens: 0 } }))?.usage).toEqual({
      ...{ inputTokens: 3, outputTokens: 0 },
    });
  });

  test.each([
    null,
    {},
    { prompt_tokens: -1, completion_tokens: 2 },
    { prompt_tokens: '3', completion_tokens: 2 },
    { prompt_tokens: 0, completion_tokens: 0 },
    { prompt_tokens: 3, completion_tokens: 0 },
    { prompt_tokens: 0, completion_tokens: 2 },
  ])('with the usage %j says nothing of what was billed', (usage) => {
    expect(readReply(reply('hi', { usage }))).toEqual({ text: 'hi', finishReason: 'stop', usage: undefined });
  });

  test.each([undefined, null, 'text', [], {}, { choices: [] }, { choices: [{}] }, { error: { message: 'x' } }])(
    'is not %j',
    (body) => {
      expect(readReply(body)).toBeUndefined();
    },
  );
});

test('tokens are estimated from bytes, not from characters, and rounded up', () => {
  expect(estimateTokens(['abc', 'd'])).toBe(2);
  expect(estimateTokens(['🙂'])).toBe(2);
  expect(estimateTokens([])).toBe(0);
});
