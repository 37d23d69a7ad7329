import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Admission } from '../../../src/domains/ingestion/receive/admission.ts';
import { RateLimitedError, UnavailableError } from '../../../src/lib/errors.ts';
import type { WorkspaceId } from '../../../src/lib/ids.ts';

const [one, other, third] = ['wsp_one', 'wsp_other', 'wsp_third'] as WorkspaceId[] as [
  WorkspaceId,
  WorkspaceId,
  WorkspaceId,
];

/** Work that goes on until it is told to end. */
function startWorks(admission: Admission, workspaceId: WorkspaceId, count: number, begun: string[] = []) {
  let endAll = () => {};
  const end = new Promise<void>((resolve) => {
    endAll = resolve;
  });
  const works = Array.from({ length: count }, (_, index) =>
    admission.hold(workspaceId, async () => {
      begun.push(`${workspaceId} ${index}`);
      await end;
    }),
  );
  return { begun, works, endAll: () => endAll() };
}

/** What has begun after each of so many turns. */
async function turns(begun: readonly string[], count: number): Promise<number[]> {
  const seen: number[] = [];
  for (let turn = 0; turn < count; turn++) {
    await nextTurn();
    seen.push(begun.length);
  }
  return seen;
}

test('bodies that are ready together begin two in a turn of the event loop', async () => {
  const { begun, works, endAll } = startWorks(new Admission(), one, 5);
  const seen = await turns(begun, 4);
  expect(seen[0]).toBeLessThanOrEqual(4);
  expect(seen.at(-1)).toBe(5);
  endAll();
  await Promise.all(works);
});

test('bodies of a workspace that sends many: one of another begins at the latest in the turn after the next', async () => {
  const admission = new Admission();
  const begun: string[] = [];
  const many = startWorks(admission, one, 30, begun);
  const single = startWorks(admission, other, 1, begun);
  await turns(begun, 2);
  expect(begun).toContain(`${other} 0`);
  expect(begun.length).toBeLessThan(10);
  many.endAll();
  single.endAll();
  await Promise.all([...many.works, ...single.works]);
});

test('a workspace that has 32 bodies under way and 256 waiting is refused as busy; another is taken', async () => {
  const admission = new Admission();
  const { works, endAll } = startWorks(admission, one, 288);
  await expect(admission.hold(one, async () => undefined)).rejects.toMatchObject({ code: 'workspace_busy' });
  expect(() => admission.assertRoom(one)).toThrow(RateLimitedError);
  await expect(admission.hold(other, async () => 'taken')).resolves.toBe('taken');
  expect(() => admission.assertRoom(other)).not.toThrow();
  endAll();
  await Promise.all(works);
  await expect(admission.hold(one, async () => 'taken')).resolves.toBe('taken');
});

test('when all 64 places and all that may wait are taken, everybody is refused', async () => {
  const admission = new Admission();
  const busy = [one, other, 'wsp_fourth', 'wsp_fifth'] as WorkspaceId[];
  const all = busy.map((workspaceId, index) => startWorks(admission, workspaceId, index < 2 ? 288 : 256));
  await expect(admission.hold(third, async () => undefined)).rejects.toBeInstanceOf(UnavailableError);
  for (const { endAll } of all) endAll();
  await Promise.all(all.flatMap(({ works }) => works));
});
