import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import { OutcomeUnknownError, originOf, TooLargeError, UnavailableError } from '../../../src/lib/errors.ts';
import { clickHouseFault, recognizeClickHouseError } from '../../../src/stores/clickhouse/errors.ts';

const answer = (code: string) => new ClickHouseError({ code, message: 'said the engine', type: 'SOME_TYPE' });
const node = (code: string) => Object.assign(new Error(`connect ${code}`), { code });

describe('a fault of ClickHouse', () => {
  test.each([
    '60',
    '202',
    '225',
    '242',
    '252',
    '254',
    '279',
    '285',
    '286',
    '289',
    '319',
    '364',
    '369',
    '415',
    '473',
    '516',
    '733',
    '999',
  ])('with the code %s of an engine, shard, replica or Keeper that is unavailable passes', (code) =>
    expect(clickHouseFault(answer(code))).toBe('passing'),
  );

  test.each(['6', '26', '27', '33', '38', '41', '53', '62', '72', '117', '131', '349'])(
    'with the code %s means the rows',
    (code) => expect(clickHouseFault(answer(code))).toBe('data'),
  );

  test.each(['1', '49', '1001', '1002', '4711'])('with the code %s says nothing of repeating it', (code) =>
    expect(clickHouseFault(answer(code))).toBe('unknown'),
  );

  test.each([
    ['a refused connection', node('ECONNREFUSED')],
    ['a reset connection', node('ECONNRESET')],
    ['a name that does not resolve for now', node('EAI_AGAIN')],
    ['a time-out of the client', new Error('Timeout error.')],
    ['a proxy that says 502', new Error('<html><head><title>502 Bad Gateway</title></head></html>')],
    ['a proxy without an engine behind it', new Error('no healthy upstream')],
  ])('that is %s passes', (_what, error) => expect(clickHouseFault(error)).toBe('passing'));

  test.each([
    ['a stack that overflowed', new RangeError('Maximum call stack size exceeded')],
    ['a fault of our own code', new TypeError("Cannot read properties of undefined (reading 'x')")],
    [
      'an answer of Redis',
      Object.assign(new Error("ERR wrong number of arguments for 'mget' command"), { name: 'ReplyError' }),
    ],
    ['an error of Postgres', Object.assign(new Error('invalid byte sequence'), { code: '22021' })],
    ['something that is no error', 'text'],
  ])('that is %s is no trouble on the way', (_what, error) => expect(clickHouseFault(error)).toBe('unknown'));
});

describe('the error for a caller', () => {
  test.each([
    ['225', UnavailableError, 'clickhouse_unavailable'],
    ['279', UnavailableError, 'clickhouse_unavailable'],
    ['369', UnavailableError, 'clickhouse_unavailable'],
    ['733', UnavailableError, 'clickhouse_unavailable'],
    ['159', UnavailableError, 'query_timeout'],
    ['158', TooLargeError, 'query_too_large'],
    ['396', TooLargeError, 'result_too_large'],
  ] as const)('of the code %s is a %o with the code %s, and keeps what was said', (code, kind, ours) => {
    const said = answer(code);
    const error = recognizeClickHouseError(said);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ code: ours });
    expect(originOf(error)).toBe(said);
  });

  test.each([
    ['a fault of ours', new TypeError('ours')],
    ['an answer that says nothing of repeating it', answer('1001')],
    ['an error for a caller', new UnavailableError('clickhouse_unavailable', 'away', { cause: answer('210') })],
    ['an outcome that is not known', new OutcomeUnknownError('postgres_unavailable', 'away', { transactionId: '1' })],
  ])('of %s is the same error', (_what, error) => expect(recognizeClickHouseError(error)).toBe(error));
});
