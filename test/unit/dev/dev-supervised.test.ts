import { describe, expect, it } from 'vitest';
import type { ProcessExit } from '../../../dev/process/child.ts';
import { backoffMs, Supervised } from '../../../dev/process/supervised.ts';

/** A process whose end the test decides. */
function fakeProcess(pid: number) {
  let end: (exit: ProcessExit) => void = () => undefined;
  const exited = new Promise<ProcessExit>((resolve) => {
    end = resolve;
  });
  return { pid, exited, end, stop: async () => end({ code: 0, signal: null }) };
}

describe('backoffMs', () => {
  it('doubles from 0.1 s and stays at 2 s', () => {
    expect([0, 1, 2, 5, 6, 50].map(backoffMs)).toEqual([0, 100, 200, 1600, 2000, 2000]);
  });
});

describe('Supervised', () => {
  it('when its process ends and the next start fails, starts again until one lives', async () => {
    const deaths: string[] = [];
    const first = fakeProcess(1);
    let starts = 0;
    const revived = new Promise<number>((resolve) => {
      const start = async () => {
        starts += 1;
        if (starts === 1) throw new Error('port taken');
        return fakeProcess(2);
      };
      new Supervised(first, start, { onDeath: (reason) => deaths.push(reason), onRevival: resolve });
    });
    first.end({ code: null, signal: 'SIGKILL' });
    expect(await revived).toBe(2);
    expect(deaths).toEqual(['SIGKILL', 'port taken']);
  });

  it('when stopped while it waits to start again, starts nothing', async () => {
    const first = fakeProcess(1);
    let starts = 0;
    const died = new Promise<void>((resolve) => {
      const start = async () => {
        starts += 1;
        return fakeProcess(2);
      };
      const supervised = new Supervised(first, start, {
        onDeath: () => resolve(supervised.stop()),
        onRevival: () => undefined,
      });
    });
    first.end({ code: 1, signal: null });
    await died;
    expect(starts).toBe(0);
  });
});
