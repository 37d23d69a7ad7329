import { describe, expect, test, vi } from 'vitest';
import { createLookUps } from '../../../src/domains/ingestion/store/create-record-finder.ts';
import type { SpanRecords } from '../../../src/domains/log-records/index.ts';

type Answer = ReadonlyMap<string, SpanRecords> | undefined;

/** A finder that answers when it is told to, and what it was asked. */
function finderOf(answer: (spans: number) => Answer) {
  const asked: { projectId: string; spans: number }[] = [];
  const open: (() => void)[] = [];
  return {
    asked,
    answerAll: () => {
      for (const resolve of open.splice(0)) resolve();
    },
    finder: {
      mayHave: () => true,
      find: (projectId: string, spans: readonly unknown[]): Promise<Answer> => {
        asked.push({ projectId, spans: spans.length });
        return new Promise((resolve) => open.push(() => resolve(answer(spans.length))));
      },
    },
  };
}

const spansOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ traceId: 'a'.repeat(32), spanId: String(index).padStart(16, '0') }));
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Answers what is asked until the promise resolves. */
async function answeringUntil(done: Promise<unknown>, answerAll: () => void): Promise<void> {
  let isDone = false;
  const end = done.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    answerAll();
    await turn();
  }
  await end;
}

describe('look-ups of log records', () => {
  test('run one at a time for a workspace; those that wait become one per project, of at most 1,000 spans', async () => {
    const { finder, asked, answerAll } = finderOf(() => new Map());
    const { find } = createLookUps(finder, 0)('w');
    const answers = [1, 2].map((count) => find('p', spansOf(count), 1).then(() => undefined));
    await turn();
    answers.push(...[300, 400, 301].map((count) => find('p', spansOf(count), 1).then(() => undefined)));
    answers.push(find('q', spansOf(5), 1).then(() => undefined));
    await turn();
    const first = [...asked];
    await answeringUntil(Promise.all(answers), answerAll);
    expect(first).toEqual([{ projectId: 'p', spans: 3 }]);
    expect(asked.slice(1)).toEqual([
      { projectId: 'q', spans: 5 },
      { projectId: 'p', spans: 700 },
      { projectId: 'p', spans: 301 },
    ]);
  });

  test('of another workspace do not wait for them', async () => {
    const { finder, asked, answerAll } = finderOf(() => new Map());
    const lookUps = createLookUps(finder, 0);
    const answers = ['a', 'b', 'c'].map((projectId) => lookUps('busy').find(projectId, spansOf(1), 1));
    const other = lookUps('other').find('d', spansOf(1), 1);
    await turn();
    expect(asked.map(({ projectId }) => projectId)).toEqual(['a', 'd']);
    for (let left = 3; left > 0; left--) {
      answerAll();
      await turn();
    }
    await Promise.all([...answers, other]);
  });

  test('that are too large together are made for each half, until a body is alone', async () => {
    const { finder, asked, answerAll } = finderOf((spans) => (spans > 4 ? undefined : new Map()));
    const { find } = createLookUps(finder, 0)('w');
    const answers = Promise.all([1, 1, 1, 5].map((count) => find('p', spansOf(count), 1)));
    for (let left = 5; left > 0; left--) {
      await turn();
      answerAll();
    }
    expect(await answers).toEqual([new Map(), new Map(), new Map(), undefined]);
    expect(asked.map(({ spans }) => spans)).toEqual([8, 2, 6, 1, 5]);
  });

  test('of one project pause between them; bodies that arrive meanwhile are looked up together', async () => {
    const { finder, asked, answerAll } = finderOf(() => new Map());
    const { find } = createLookUps(finder, 30)('w');
    const first = find('p', spansOf(1), 1);
    await turn();
    answerAll();
    await first;
    const others = Promise.all([2, 3].map((count) => find('p', spansOf(count), 1)));
    const otherProject = find('q', spansOf(7), 1);
    await turn();
    answerAll();
    await otherProject;
    expect(asked.map(({ spans }) => spans)).toEqual([1, 7]);
    await vi.waitFor(() => expect(asked.length).toBe(3));
    answerAll();
    await others;
    expect(asked[2]).toEqual({ projectId: 'p', spans: 5 });
  });

  test('that take long are followed by a rest of twice their time', async () => {
    const { finder, asked, answerAll } = finderOf(() => new Map());
    const { find } = createLookUps(finder, 0)('w');
    const first = find('p', spansOf(1), 1);
    await turn();
    const beganAtMs = performance.now();
    while (performance.now() - beganAtMs < 50) await turn();
    answerAll();
    await first;
    const tookMs = performance.now() - beganAtMs;
    const second = find('p', spansOf(2), 1);
    await vi.waitFor(() => expect(asked.length).toBe(2), { interval: 1 });
    // A timer of Node may begin a millisecond early.
    expect(performance.now() - beganAtMs).toBeGreaterThan(2.9 * tookMs);
    await answeringUntil(second, answerAll);
  });
});
