import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import { asBadBody, BadBodyError, isKnownToPass } from '../../../src/domains/ingestion/store/body-errors.ts';
import { InvalidError, RateLimitedError, UnavailableError } from '../../../src/lib/errors.ts';

const ofClickHouse = (code: string) => new ClickHouseError({ code, message: 'said the engine', type: 'SOME_TYPE' });
const withCode = (code: string, message = 'something happened') => Object.assign(new Error(message), { code });
const ofRedis = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });

describe('is known to pass', () => {
  test.each([
    ['a database that is away', new UnavailableError('postgres_unavailable', 'The database cannot be reached')],
    ['a place that is taken', new RateLimitedError('workspace_busy', 'Too much under way')],
    ['a shard of ClickHouse that is unavailable', ofClickHouse('279')],
    ['a table of ClickHouse that can only be read for now', ofClickHouse('242')],
    ['ClickHouse without its Keeper', ofClickHouse('999')],
    ['a refused connection', withCode('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:6379')],
    ['a reset connection', withCode('ECONNRESET')],
    ['a name that does not resolve for now', withCode('EAI_AGAIN')],
    ['too many open files', withCode('EMFILE')],
    ['a full Redis', ofRedis("OOM command not allowed when used memory > 'maxmemory'.")],
    ['a Redis that starts', ofRedis('LOADING Redis is loading the dataset in memory')],
    ['a Redis that has become a replica', ofRedis("READONLY You can't write against a read only replica.")],
    ['a Redis that runs a long script', ofRedis('BUSY Redis is busy running a script.')],
    ['a Redis that has lost its master', ofRedis('MASTERDOWN Link with MASTER is down')],
    ['a Redis that cannot write its file', ofRedis('MISCONF Redis is configured to save RDB snapshots')],
    ['a Redis that has too few replicas', ofRedis('NOREPLICAS Not enough good replicas to write.')],
    ['a Redis that moves keys', ofRedis('TRYAGAIN Multiple keys request during rehashing of slot')],
    ['a Redis cluster without a quorum', ofRedis('CLUSTERDOWN The cluster is down')],
    ['a Redis that fails over', ofRedis('UNBLOCKED force unblock from blocking operation, instance state changed')],
    ['a connection to Redis that was closed', new Error('Connection is closed.')],
    ['a command to Redis that had no answer', new Error('Command timed out')],
    ['a connection to Redis that is not there', new Error("Stream isn't writeable and enableOfflineQueue is false")],
  ])('%s', (_what, error) => {
    expect(isKnownToPass(error)).toBe(true);
  });
});

describe('may be the doing of the body', () => {
  test.each([
    ['a body that cannot be decoded', new BadBodyError('cut short')],
    ['a fault of what was sent', new InvalidError('invalid_body', 'It has no name')],
    ['rows that ClickHouse cannot read', ofClickHouse('117')],
    ['an error of ClickHouse that nobody knows', ofClickHouse('1001')],
    ['a fault of our own code', new TypeError("Cannot read properties of undefined (reading 'x')")],
    ['a stack that overflowed', new RangeError('Maximum call stack size exceeded')],
    ['text that Postgres cannot keep', withCode('22021', 'invalid byte sequence for encoding "UTF8": 0x00')],
    ['a file that is missing', withCode('ENOENT')],
    ['a command that Redis does not know so', ofRedis("ERR wrong number of arguments for 'mget' command")],
    ['a key of another kind', ofRedis('WRONGTYPE Operation against a key holding the wrong kind of value')],
    ['a key that Redis has already', ofRedis('BUSYKEY Target key name already exists.')],
    ['words of a passing error within others', new Error('The attribute says: OOM command not allowed')],
    ['what is no error', 'ECONNREFUSED'],
    ['nothing', undefined],
  ])('%s', (_what, error) => {
    expect(isKnownToPass(error)).toBe(false);
  });
});

describe('an error while a body becomes rows', () => {
  test('that the body causes is one of the body, and ends its tries', () => {
    expect(asBadBody(new InvalidError('invalid_body', 'It has no name'))).toBeInstanceOf(BadBodyError);
  });

  test.each([
    ['a file of this program that is gone', withCode('ERR_MODULE_NOT_FOUND')],
    ['memory that cannot be had', new RangeError('Array buffer allocation failed')],
    ['a database that is away', new UnavailableError('postgres_unavailable', 'The database cannot be reached')],
  ])('stays what it is for a reason that may pass: %s', (_what, error) => {
    expect(asBadBody(error)).toBe(error);
  });
});
