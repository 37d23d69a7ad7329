import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { keptLog } from '../../support/http-app.ts';

const canary = 'c4n4ry-value';

/** Logs an error in every way code does, and gives back the whole text and the records. */
function logged(error: unknown) {
  const log = keptLog();
  const logger = createLogger({ level: 'debug', name: 'test', destination: log.destination });
  logger.error(error);
  logger.error({ err: error });
  logger.error({ err: error }, 'with a message');
  logger.error({ error }, 'under the other name');
  logger.child({ part: 'x' }).warn({ err: error });
  return log;
}

describe('an error in the log', () => {
  test('is type, message, code and stack frames, and nothing else', () => {
    const error = Object.assign(new TypeError('it broke'), {
      code: 'E_BROKE',
      detail: canary,
      parent: { deep: canary },
    });
    const log = logged(error);
    expect(log.text()).not.toContain(canary);
    expect(log.records()).toHaveLength(5);
    const [first, , third] = log.records();
    expect(Object.keys(first.err).sort()).toEqual(['code', 'message', 'stack', 'type']);
    expect(first.err).toMatchObject({ type: 'TypeError', message: 'it broke', code: 'E_BROKE' });
    expect(first.err.stack).toMatch(/^\s+at .*telemetry-logger\.test\.ts/);
    expect([first.msg, third.msg]).toEqual(['it broke', 'with a message']);
  });
  test('keeps its causes, as bare as itself', () => {
    const cause = Object.assign(new Error('inner'), { detail: canary });
    const log = logged(new Error('outer', { cause }));
    expect(log.text()).not.toContain(canary);
    expect(log.records()[0].err.cause).toMatchObject({ type: 'Error', message: 'inner' });
  });
  test.each<[string, Error]>([
    [
      'ioredis command arguments',
      Object.assign(new Error(`ERR bad value ${canary}`), { command: { name: 'set', args: ['k', canary] } }),
    ],
    ['Redis echoing arguments', new Error(`ERR unknown command 'x', with args beginning with: '${canary}' 'b'`)],
    ['knex putting the statement first', new Error(`insert into "t" ("a") values ('${canary} - x') - duplicate key`)],
    ['a URL with credentials', new Error(`cannot reach postgres://user:${canary}@db:5432/app`)],
    ['a URL with a password only', new Error(`cannot reach redis://:${canary}@db:6379`)],
  ])('never holds %s', (_what, error) => {
    const log = logged(error);
    expect(log.text()).not.toContain(canary);
    expect(log.records()[0].err.message).not.toBe('');
  });
  test('keeps the part of a knex message that says what went wrong', () => {
    const log = logged(new Error(`select * from "t" where "a" = '${canary}' - relation "t" does not exist`));
    expect(log.records()[0].msg).toBe('[statement] - relation "t" does not exist');
  });
  test('may be anything that was thrown', () => {
    expect(logged('just text').records()).toHaveLength(5);
    expect(logged(undefined).records()).toHaveLength(5);
  });
});

test('credentials in a URL are scrubbed from any line, not only from errors', () => {
  const log = keptLog();
  const logger = createLogger({ level: 'info', name: 'test', destination: log.destination });
  logger.info({ url: `amqp://u:${canary}@host/v` }, `connecting to http://u:${canary}@host`);
  expect(log.text()).not.toContain(canary);
  expect(log.records()[0].url).toBe('amqp://***@host/v');
});

test.each(['process.exit(0)', "throw new Error('the end')"])(
  'a process that ends with %s has written all its lines',
  (end) => {
    const program = `
    import { createLogger } from './src/telemetry/logger.ts';
    const logger = createLogger({ level: 'info', name: 'test' });
    for (const line of [1, 2, 3]) logger.info({ line }, 'a line');
    ${end};`;
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program];
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(
      stdout
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text).line),
    ).toEqual([1, 2, 3]);
  },
);
