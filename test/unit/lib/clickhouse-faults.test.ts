import { ClickHouseError, parseError } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import { OutcomeUnknownError, originOf, TooLargeError, UnavailableError } from '../../../src/lib/errors.ts';
import { clickHouseFault, recognizeClickHouseError } from '../../../src/stores/clickhouse/errors.ts';

const answer = (code: string) => new ClickHouseError({ code, message: 'said the engine', type: 'SOME_TYPE' });
const node = (code: string) => Object.assign(new Error(`connect ${code}`), { code });

describe('a fault of ClickHouse', () => {
  test.each([
    '60',
    '74',
    '88',
    '172',
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
    '400',
    '415',
    '424',
    '458',
    '473',
    '516',
    '521',
    '733',
    '999',
  ])(
    'with the code %s of an engine, shard, replica or Keeper that is unavailable, or whose files are, passes',
    (code) => expect(clickHouseFault(answer(code))).toBe('passing'),
  );

  test.each(['6', '26', '27', '32', '33', '38', '41', '53', '62', '72', '117', '131', '349'])(
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
    ['a machine without a port for a connection', node('EADDRNOTAVAIL')],
    ['a machine without a buffer for a connection', node('ENOBUFS')],
    ['an answer that is no HTTP', node('HPE_INVALID_CONSTANT')],
    ['a time-out of the client', new Error('Timeout error.')],
    ['a proxy that says 502', new Error('<html><head><title>502 Bad Gateway</title></head></html>')],
    ['a proxy without an engine behind it', new Error('no healthy upstream')],
  ])('that is %s passes', (_what, error) => expect(clickHouseFault(error)).toBe('passing'));

  test.each(['<html><head><title>413 Request Entity Too Large</title></head></html>', '\n<h1>Payload too large</h1>'])(
    'that is a page of a proxy about the size of the request does not pass: %s',
    (page) => expect(clickHouseFault(new Error(page))).toBe('unknown'),
  );

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

/** What servers of ClickHouse 26.7 answered, as the client reads it. */
const eof = 'Code: 32. DB::Exception: Attempt to read after eof';
const cut = 'Code: 33. DB::Exception: Cannot read all data. Bytes read: 2. Bytes expected: 8';
const status = 'Insertion status:\nWrote 1 blocks and 2 rows on shard 1 replica 0, 127.0.0.1:9000\n';
const filesystem = 'std::__1::filesystem::filesystem_error';
const quoted = 'Attempt to read after eof: while receiving packet from h:9000 (ATTEMPT_TO_READ_AFTER_EOF)';

describe('an answer of ClickHouse', () => {
  test.each([
    [
      'that a shard was killed before it confirmed rows',
      `${eof}: while receiving packet from 127.0.0.1:9000, local address: 127.0.0.1:35934: ${status}. (ATTEMPT_TO_READ_AFTER_EOF) (version 26.7.2.1)`,
    ],
    ['that a shard was killed between two blocks', `${eof}: ${status}. (ATTEMPT_TO_READ_AFTER_EOF) (version 26.7.2.1)`],
    [
      'that a shard lost the connection to another one',
      `Code: 32. DB::Exception: Received from h:9000. DB::Exception: Attempt to read after eof: while receiving packet from i:9000. (ATTEMPT_TO_READ_AFTER_EOF)`,
    ],
    [
      'that a shard was killed within a packet',
      `${cut}: while receiving packet from 127.0.0.1:9000: ${status}. (CANNOT_READ_ALL_DATA)`,
    ],
    [
      'that its file system is read-only',
      `std::exception. Code: 1001, type: ${filesystem}, e.what() = filesystem error: in create_directories: Read-only file system ["/data/store/1d4"]\nCannot print extra info for Poco::Exception (version 26.7.2.1)`,
    ],
    [
      'that the file system of a shard is read-only',
      `Code: 1001. DB::Exception: Received from h:9000. DB::Exception: ${filesystem}: filesystem error: in create_directories: Read-only file system ["/data"]. (STD_EXCEPTION)`,
    ],
    [
      'that it cannot use its network',
      'Poco::Exception. Code: 1000, e.code() = 111, Connection refused (version 26.7.2.1)',
    ],
  ])('%s says that the fault passes', (_what, said) => expect(clickHouseFault(parseError(said))).toBe('passing'));

  test.each([
    ['a block that ends too early', `${cut}: While executing Native. (CANNOT_READ_ALL_DATA)`],
    ['a block without its end', `${eof}: While executing Native. (ATTEMPT_TO_READ_AFTER_EOF)`],
    [
      'a value that quotes the words of a shard that was killed',
      `${eof}: while converting ': while receiving packet from h:9000' to UInt64. (ATTEMPT_TO_READ_AFTER_EOF)`,
    ],
    [
      'a value that quotes a whole answer',
      `Code: 6. DB::Exception: Cannot parse string 'DB::Exception: ${quoted}' as UInt64. (CANNOT_PARSE_TEXT)`,
    ],
    [
      'a value that quotes an error of the file system',
      `Code: 27. DB::Exception: Cannot parse input: 'std::exception. Code: 1001, type: ${filesystem}, e.what()'. (CANNOT_PARSE_INPUT_ASSERTION_FAILED)`,
    ],
  ])('about %s means the rows', (_what, said) => expect(clickHouseFault(parseError(said))).toBe('data'));

  test.each([
    'std::exception. Code: 1001, type: std::length_error, e.what() = vector (version 26.7.2.1)',
    `std::exception. Code: 1001, type: std::out_of_range, e.what() = ${filesystem} (version 26.7.2.1)`,
    'Unknown exception. Code: 1002, type: int (version 26.7.2.1)',
  ])('%s says nothing of repeating it', (said) => expect(clickHouseFault(parseError(said))).toBe('unknown'));
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
