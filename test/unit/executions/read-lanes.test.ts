import { expect, test } from 'vitest';
import { ReadLanes } from '../../../src/domains/executions/read-lanes.ts';

const idle = new AbortController().signal;
const reader = (workspaceId: string, signal = idle) => ({ workspaceId, signal });

/** Work that ends when it is told to. */
function heldWork() {
  let running = 0;
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    work: () => {
      running++;
      return ended;
    },
    running: () => running,
    end,
  };
}

test.each([
  ['search', 1],
  ['quick', 4],
  ['large', 1],
] as const)(
  '%s: one workspace that asks for a lot runs %i at a time, and another one runs at once',
  async (lane, most) => {
    const lanes = new ReadLanes();
    const [busy, other] = [heldWork(), heldWork()];
    const asked = Array.from({ length: most + 5 }, () => lanes[lane](reader('busy'), busy.work));
    const free = lanes[lane](reader('other'), other.work);
    await Promise.resolve();
    expect(busy.running()).toBe(most);
    expect(other.running()).toBe(1);
    other.end();
    await free;
    busy.end();
    await Promise.all(asked);
    expect(busy.running()).toBe(most + 5);
  },
);

test('search: too many of one workspace are refused as its own fault', async () => {
  const lanes = new ReadLanes();
  const held = heldWork();
  const asked = Array.from({ length: 17 }, () => lanes.search(reader('busy'), held.work));
  await expect(lanes.search(reader('busy'), held.work)).rejects.toMatchObject({ code: 'workspace_busy' });
  held.end();
  await Promise.all(asked);
});
