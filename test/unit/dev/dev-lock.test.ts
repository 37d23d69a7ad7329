import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identify, isAlive } from '../../../dev/process/identity.ts';
import { CannotStart } from '../../../dev/up/errors.ts';
import { acquireLock, parseLock } from '../../../dev/up/lock.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'promptlane-lock-'));
  path = join(directory, 'up.lock');
});

afterEach(() => rmSync(directory, { recursive: true }));

describe('parseLock', () => {
  it.each(['', '{', 'null', '{"pid":0,"startTime":"x"}', '{"pid":"7","startTime":"x"}', '{"pid":7}'])(
    'of %j is undefined',
    (content) => {
      expect(parseLock(content)).toBeUndefined();
    },
  );

  it('of a lock file is the process it names', () => {
    expect(parseLock('{"pid":7,"startTime":"x"}')).toEqual({ pid: 7, startTime: 'x' });
  });
});

describe('acquireLock', () => {
  it('of a free lock leaves one file, and its release none', () => {
    const release = acquireLock(path);
    expect(readdirSync(directory)).toEqual(['up.lock']);
    release();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('of a lock whose holder lives is refused, naming the pid', () => {
    acquireLock(path);
    expect(() => acquireLock(path)).toThrow(CannotStart);
    expect(() => acquireLock(path)).toThrow(`pid ${process.pid} `);
    expect(readdirSync(directory)).toEqual(['up.lock']);
  });

  it.each([
    ['a pid that another process has by now', () => JSON.stringify({ pid: process.pid, startTime: 'long ago' })],
    ['nothing that can be read', () => 'garbage'],
  ])('of a lock that names %s takes it over', (_, content) => {
    writeFileSync(path, content());
    const release = acquireLock(path);
    expect(readdirSync(directory)).toEqual(['up.lock']);
    release();
    expect(existsSync(path)).toBe(false);
  });
});

describe('identity', () => {
  it('of a process that was killed is no longer alive', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    const identity = identify(child.pid ?? 0);
    expect(identity && isAlive(identity)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(identity && isAlive(identity)).toBe(false);
  });
});
