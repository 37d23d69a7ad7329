import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Admission } from '../../src/domains/ingestion/admission.ts';
import { UnavailableError } from '../../src/lib/errors.ts';

/** Work that goes on until it is told to end. */
function startWorks(admission: Admission, count: number) {
  const begun: number[] = [];
  let endAll = () => {};
  const end = new Promise<void>((resolve) => {
    endAll = resolve;
  });
  const works = Array.from({ length: count }, (_, index) =>
    admission.hold(async () => {
      begun.push(index);
      await end;
    }),
  );
  return { begun, works, endAll: () => endAll() };
}

test('requests that are ready together begin two in a turn of the event loop, first come first served', async () => {
  const { begun, works, endAll } = startWorks(new Admission(), 5);
  const seen: number[][] = [];
  for (let turn = 0; turn < 4; turn++) {
    await Promise.resolve();
    seen.push([...begun]);
    await nextTurn();
  }
  expect(seen).toEqual([
    [0, 1],
    [0, 1, 2, 3],
    [0, 1, 2, 3, 4],
    [0, 1, 2, 3, 4],
  ]);
  endAll();
  await Promise.all(works);
});

test('the sixty-fifth request at once is refused, and one is taken again when one has ended', async () => {
  const admission = new Admission();
  const { works, endAll } = startWorks(admission, 64);
  await expect(admission.hold(async () => undefined)).rejects.toBeInstanceOf(UnavailableError);
  endAll();
  await Promise.all(works);
  await expect(admission.hold(async () => 'taken')).resolves.toBe('taken');
});

test('bytes beyond 128 MiB at once are refused, but never the only request', async () => {
  const admission = new Admission();
  const mebibyte = 1024 * 1024;
  const refused = admission.hold(async (reserve) => {
    reserve(200 * mebibyte);
    await admission.hold(async (other) => other(1));
  });
  await expect(refused).rejects.toBeInstanceOf(UnavailableError);
});
