import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { defaultLlmLimits, type LlmLimits } from '../../../src/llm/limits.ts';
import { createLlm, type Llm } from '../../../src/llm/llm.ts';
import { sendChat } from '../../../src/llm/send-chat.ts';
import { connectWorkerRedis, type Redis } from '../../../src/stores/redis/client.ts';
import { llmPrefix } from '../../../src/stores/redis/names.ts';
import {
  completion,
  hang,
  json,
  type Respond,
  type ScriptedModel,
  startScriptedModel,
} from '../../support/scripted-model.ts';
import { until } from '../../support/until.ts';

let redis: Redis;
beforeAll(() => {
  redis = connectWorkerRedis(inject('redisUrl'));
});
afterAll(() => redis.disconnect());

const apiKey = 'sk-of-this-test';
const quick = { backoffMsMin: 10, backoffMsMax: 40 };

async function endpoint(script: readonly Respond[], limits: Partial<LlmLimits> = {}) {
  const model = await startScriptedModel(script);
  onTestFinished(() => model.close());
  return { model, llm: llmOf(model.url, limits) };
}

function llmOf(baseUrl: string, limits: Partial<LlmLimits> = {}, connection = redis): Llm {
  const llm = createLlm({
    config: { baseUrl, apiKey, reflectionModel: undefined },
    redis: connection,
    limits: { ...defaultLlmLimits, ...quick, ...limits },
  });
  if (llm === undefined) throw new Error('no endpoint');
  return llm;
}

const send = (llm: Llm, { signal = new AbortController().signal, sharer = newId('wsp') } = {}) =>
  sendChat(llm, {
    model: 'm',
    messages: [{ role: 'user', content: 'hello' }],
    params: { temperature: 0, stream: true },
    sharer,
    signal,
  });

const tooMany = (headers: Record<string, string> = {}) => json(429, { error: { message: 'slow down' } }, headers);
const failing = json(500, { error: { message: 'oops' } });

test('a call returns the text and the usage of the endpoint', async () => {
  const { model, llm } = await endpoint([completion('hi')]);
  expect(await send(llm)).toEqual({
    ...{ ok: true, text: 'hi', finishReason: 'stop', inputTokens: 7, outputTokens: 3, usageEstimated: false },
    latencyMs: expect.any(Number),
  });
  const [request] = model.requests;
  expect(request?.path).toBe('/v1/chat/completions');
  expect(request?.headers.authorization).toBe(`Bearer ${apiKey}`);
  const messages = [{ role: 'user', content: 'hello' }];
  expect(request?.body).toEqual({ model: 'm', messages, temperature: 0, stream: false });
});

test('a text that is too long is an error that may have been billed', async () => {
  const { llm } = await endpoint([completion('x'.repeat(1_001))], { textCharsMax: 1_000 });
  expect(await send(llm)).toMatchObject({
    ...{ ok: false, code: 'provider_reply_invalid', mayBeBilled: true },
    message: 'The text of the response has more than 1000 characters',
  });
});

test('without usage, tokens are estimated from bytes', async () => {
  const { llm } = await endpoint([completion('four', null)]);
  expect(await send(llm)).toMatchObject({ ok: true, inputTokens: 2, outputTokens: 2, usageEstimated: true });
});

describe('errors that are not billed', () => {
  test('are sent again after the pause that the endpoint wishes', async () => {
    const { model, llm } = await endpoint([tooMany({ 'retry-after-ms': '300' }), failing, completion('hi')]);
    const startedAtMs = performance.now();
    expect(await send(llm)).toMatchObject({ ok: true, text: 'hi' });
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(300);
    expect(model.requests).toHaveLength(3);
  });

  test.each<[string, Respond, string]>([
    ['429', tooMany({ 'retry-after-ms': '1' }), 'provider_rate_limited'],
    ['500', failing, 'provider_error'],
  ])('are reported after four attempts: %s', async (_, respond, code) => {
    const { model, llm } = await endpoint([respond]);
    expect(await send(llm)).toMatchObject({ ok: false, code, mayBeBilled: false });
    expect(model.requests).toHaveLength(4);
  });

  test.each([
    [401, 'provider_auth'],
    [403, 'provider_auth'],
    [404, 'provider_model_not_found'],
    [400, 'provider_refused'],
  ])('are not sent again with %i', async (status, code) => {
    const { model, llm } = await endpoint([
      json(status, { error: { message: `the words of the provider, ${apiKey}` } }),
    ]);
    const message = `${status} the words of the provider, ***`;
    expect(await send(llm)).toMatchObject({ ok: false, code, mayBeBilled: false, message });
    expect(model.requests).toHaveLength(1);
  });

  test('include an endpoint that is not there', async () => {
    const { model, llm } = await endpoint([hang]);
    await model.close();
    expect(await send(llm)).toMatchObject({ ok: false, code: 'provider_unreachable', mayBeBilled: false });
  });

  test('include a redirect, which is not followed', async () => {
    const other = await startScriptedModel([completion('stolen')]);
    onTestFinished(() => other.close());
    const { llm } = await endpoint([json(307, {}, { Location: `${other.url}/chat/completions` })]);
    expect(await send(llm)).toMatchObject({ ok: false, code: 'provider_refused', mayBeBilled: false });
    expect(other.requests).toEqual([]);
  });
});

describe('what may have been billed is sent once', () => {
  const partly: Respond = (response) => response.writeHead(200, { 'Content-Length': '1000' }).write('{"choices":');
  const breaking: Respond = (response) => response.destroy();
  const long = completion('x'.repeat(20_000));

  test.each<[string, Respond, string]>([
    ['a response that never begins', hang, 'provider_timeout'],
    ['a response that never ends', partly, 'provider_timeout'],
    ['a connection that breaks', breaking, 'provider_unreachable'],
    ['a response that is too long', long, 'provider_reply_invalid'],
    ['a response that is not a completion', json(200, { nothing: true }), 'provider_reply_invalid'],
    ['a response that is not JSON', (response) => response.writeHead(200).end('<html>'), 'provider_reply_invalid'],
    [
      'a response with broken JSON',
      (response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"choices":'),
      'provider_reply_invalid',
    ],
  ])('%s', async (_, respond, code) => {
    const { model, llm } = await endpoint([respond], { timeoutMs: 500, replyBytesMax: 10_000 });
    expect(await send(llm)).toMatchObject({ ok: false, code, mayBeBilled: true });
    expect(model.requests).toHaveLength(1);
  });
});

test('a response of a million values is refused before it is parsed', async () => {
  const values = Buffer.from(`{"choices":[${'{},'.repeat(1_200_000)}{}]}`);
  const { llm } = await endpoint([(response) => response.end(values)]);
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  expect(await send(llm)).toMatchObject({
    ...{ ok: false, code: 'provider_reply_invalid', mayBeBilled: true },
    message: 'The response has too many JSON values',
  });
  expect(parse.mock.calls.filter(([text]) => text.length > 1_000_000)).toEqual([]);
});

test('an error of a million values is what its status says', async () => {
  const values = Buffer.from(`[${'{},'.repeat(1_200_000)}{}]`);
  const { llm } = await endpoint([(response) => response.writeHead(400).end(values)]);
  expect(await send(llm)).toMatchObject({ ok: false, code: 'provider_refused', mayBeBilled: false });
});

describe('an abort', () => {
  test('ends a request, which may have been billed', async () => {
    const { model, llm } = await endpoint([hang]);
    const controller = new AbortController();
    const sent = send(llm, controller);
    await until('the request arrives', 5_000, async () => model.requests.length === 1);
    controller.abort();
    expect(await sent).toMatchObject({ ok: false, code: 'aborted', mayBeBilled: true });
    await until('the connection is closed', 5_000, async () => model.inFlight === 0);
  });

  test('ends a pause, and nothing was billed', async () => {
    const { model, llm } = await endpoint([tooMany({ 'retry-after': '20' })]);
    const controller = new AbortController();
    const sent = send(llm, controller);
    await until('the request is refused', 5_000, async () => model.requests.length === 1 && model.inFlight === 0);
    controller.abort();
    expect(await sent).toMatchObject({ ok: false, code: 'aborted', mayBeBilled: false });
  });

  test('is listened to only during the call, because a run has thousands of calls', async () => {
    const { llm } = await endpoint([completion('hi'), failing, completion('hi')]);
    const { signal } = new AbortController();
    for (let sent = 0; sent < 3; sent++) expect(await send(llm, { signal })).toMatchObject({ ok: true });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('before the call sends nothing', async () => {
    const { model, llm } = await endpoint([completion('hi')]);
    expect(await send(llm, { signal: AbortSignal.abort() })).toMatchObject({ code: 'aborted', mayBeBilled: false });
    expect(model.requests).toEqual([]);
  });
});

describe('the places of an endpoint', () => {
  const slowly: Respond = (response, body) => setTimeout(() => completion('hi')(response, body), 30);

  test('are shared by all processes, and each sharer has a part of them', async () => {
    const limits = { concurrencyMax: 3, concurrencyOfSharerMax: 2 };
    const { model, llm } = await endpoint([slowly], limits);
    const elsewhere = llmOf(model.url, limits);
    const all = Array.from({ length: 20 }, (_, index) => send(index % 2 === 0 ? llm : elsewhere));
    expect((await Promise.all(all)).every(({ ok }) => ok)).toBe(true);
    expect(model.inFlightMax).toBe(3);
    const alone = await oneSharer(limits);
    expect(alone.inFlightMax).toBe(2);
  });

  async function oneSharer(limits: Partial<LlmLimits>): Promise<ScriptedModel> {
    const { model, llm } = await endpoint([slowly], limits);
    const sharer = newId('wsp');
    await Promise.all(Array.from({ length: 10 }, () => send(llm, { sharer })));
    return model;
  }

  test('are given to a sharer with few calls before those with very many', async () => {
    const rates = { ratePerMinute: 600_000, ratePerMinuteOfSharer: 300_000 };
    const { llm } = await endpoint([slowly], { concurrencyMax: 4, concurrencyOfSharerMax: 2, ...rates });
    let finished = 0;
    const busy = (['wsp_a', 'wsp_b'] as const).flatMap((sharer) =>
      Array.from({ length: 200 }, () => send(llm, { sharer }).then(() => finished++)),
    );
    await until('all places are taken', 5_000, async () => finished > 4);
    const before = finished;
    for (let sent = 0; sent < 8; sent++) expect(await send(llm, { sharer: 'wsp_quiet' })).toMatchObject({ ok: true });
    expect(finished - before).toBeLessThan(80);
    await Promise.all(busy);
  });

  test('have a rate', async () => {
    const { llm } = await endpoint([completion('hi')], { ratePerMinute: 600, ratePerMinuteOfSharer: 600 });
    const startedAtMs = performance.now();
    await Promise.all(Array.from({ length: 20 }, () => send(llm)));
    // A burst of one second, then ten a second.
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(900);
  });

  test('that a dead process held are free after 15 s, those of a living one are kept beyond', async () => {
    expect(defaultLlmLimits.leaseMs).toBe(15_000);
    const limits = { concurrencyMax: 2, concurrencyOfSharerMax: 2, leaseMs: 2_000 };
    const { model, llm } = await endpoint([completion('hi')], { ...limits, waitMsMax: 30_000 });
    const ending = connectWorkerRedis(inject('redisUrl'));
    const { signal } = new AbortController();
    const holders = [llm, llmOf(model.url, limits, ending)].map(({ places }) => places.take('holder', signal));
    for (const place of await Promise.all(holders)) onTestFinished(() => place?.release());
    const hurried = llmOf(model.url, { ...limits, waitMsMax: 200 });
    expect(await send(hurried)).toMatchObject({ ok: false, code: 'provider_busy', mayBeBilled: false });

    ending.disconnect();
    const next = await llm.places.take('next', signal);
    expect(next).toBeDefined();
    onTestFinished(() => next?.release());
    // Longer than a lease that nothing renews.
    const patient = llmOf(model.url, { ...limits, waitMsMax: 3_000 });
    expect(await send(patient)).toMatchObject({ ok: false, code: 'provider_busy' });
  });

  /** A connection of its own, and how often it has sent a script. `loses` tells of which its answer is lost. */
  function countedRedis(loses: (asked: number) => boolean = () => false) {
    const connection = connectWorkerRedis(inject('redisUrl'));
    onTestFinished(() => connection.disconnect());
    const counted = { asked: 0 };
    const send = connection.evalsha.bind(connection);
    const evalsha = async (...args: Parameters<typeof send>) => {
      counted.asked++;
      const isLost = loses(counted.asked);
      const answer = await send(...args);
      if (isLost) throw new Error('The answer was lost');
      return answer;
    };
    return { connection: Object.assign(connection, { evalsha }), counted };
  }

  const oneByOne = { concurrencyMax: 1, concurrencyOfSharerMax: 1 };
  const unaborted = new AbortController().signal;
  beforeAll(async () => {
    // Redis knows the script then.
    (await llmOf('http://127.0.0.1:1/v1').places.take('first', unaborted))?.release();
  });

  test('are asked for by the first of the calls of a sharer that wait, and less and less often', async () => {
    const { model, llm } = await endpoint([completion('hi')], oneByOne);
    const holder = await llm.places.take('holder', unaborted);
    onTestFinished(() => holder?.release());
    const { connection, counted } = countedRedis();
    const { places } = llmOf(model.url, { ...oneByOne, waitMsMax: 1_000 }, connection);
    const taken = await Promise.all(Array.from({ length: 50 }, () => places.take('waiting', unaborted)));
    expect(taken.every((each) => each === undefined)).toBe(true);
    expect(counted.asked).toBeLessThan(15);
  });

  test('that become free are taken soon, in the order of the calls, without those that are aborted', async () => {
    const { model, llm } = await endpoint([completion('hi')], oneByOne);
    const holder = await llm.places.take('holder', unaborted);
    const { connection, counted } = countedRedis();
    const { places } = llmOf(model.url, oneByOne, connection);
    const order: string[] = [];
    const leaving = new AbortController();
    const take = async (name: string, of = unaborted) => {
      const place = await places.take('waiting', of);
      order.push(name);
      return place;
    };
    const [first, left, second] = [take('first'), take('left', leaving.signal), take('second')];
    await until('it asks less often', 5_000, () => counted.asked > 6);
    leaving.abort();
    expect(await left).toBeUndefined();
    holder?.release();
    const freeAtMs = performance.now();
    const place = await first;
    expect(performance.now() - freeAtMs).toBeLessThan(500);
    place?.release();
    (await second)?.release();
    expect(order).toEqual(['left', 'first', 'second']);
  });

  test('whose taking was not answered are the same places when they are asked for again', async () => {
    const { model } = await endpoint([completion('hi')]);
    const { connection, counted } = countedRedis((asked) => asked === 1);
    const { places } = llmOf(model.url, { ...oneByOne, waitMsMax: 3_000 }, connection);
    const place = await places.take('holder', unaborted);
    expect([place !== undefined, counted.asked]).toEqual([true, 2]);
    place?.release();
    const next = await places.take('next', unaborted);
    expect(next).toBeDefined();
    next?.release();
  });

  test('whose taking was never answered are free again when the call gives up', async () => {
    const { model, llm } = await endpoint([completion('hi')], { ...oneByOne, waitMsMax: 3_000 });
    const { connection } = countedRedis(() => true);
    const { places } = llmOf(model.url, { ...oneByOne, waitMsMax: 100 }, connection);
    expect(await places.take('holder', unaborted)).toBeUndefined();
    const next = await llm.places.take('next', unaborted);
    expect(next).toBeDefined();
    next?.release();
  });

  test('leave nothing in Redis that does not expire within the time of a lease', async () => {
    const { llm } = await endpoint([completion('hi')]);
    const place = await llm.places.take('holder', new AbortController().signal);
    onTestFinished(() => place?.release());
    const keys = await redis.keys(`${llmPrefix('*')}:leases`);
    const lives = await Promise.all(keys.map((key) => redis.pttl(key)));
    expect(Math.min(...lives)).toBeGreaterThan(0);
    expect(Math.max(...lives)).toBeLessThanOrEqual(defaultLlmLimits.leaseMs);
  });
});
