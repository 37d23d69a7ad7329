import { describe, expect, it } from 'vitest';
import { BacklogShares } from '../../../src/domains/ingestion/receive/backlog-shares.ts';
import { RateLimitedError } from '../../../src/lib/errors.ts';
import { costOf } from '../../../src/queue/ingest-lanes.ts';
import { backlogCostMax } from '../../../src/queue/lane-schedule.ts';

const mebibyte = 1024 * 1024;
/** Nothing else is in Redis. */
const memory = { bytesMax: 1_000 * mebibyte, bytesLeft: 1_000 * mebibyte };

function shares(backlog: Record<string, number>, cost = 0) {
  const asked: string[] = [];
  const backlogOf = async (workspaceId: string) => {
    asked.push(workspaceId);
    return { bytes: backlog[workspaceId] ?? 0, cost };
  };
  return { asked, shares: new BacklogShares({ backlogOf }) };
}

describe('a workspace that fills more than a quarter of the memory for bodies', () => {
  it('is refused with what it has and may have, while others are not even asked about', async () => {
    const { shares: of, asked } = shares({ busy: 251 * mebibyte, quiet: 0 });
    of.note('busy', { bytes: 251 * mebibyte, cost: 0 }, memory);
    of.note('quiet', { bytes: 250 * mebibyte, cost: 0 }, memory);
    const refusal = await of.assertRoom('busy', memory).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(RateLimitedError);
    expect(refusal).toMatchObject({ code: 'workspace_busy', retryAfterS: 5 });
    expect(String(refusal)).toMatch(/263192576 bytes .* 262144000 at the moment/);
    await of.assertRoom('quiet', memory);
    expect(asked).toEqual(['busy']);
  });

  it('is taken again as soon as Redis says that it has been drained', async () => {
    const backlog = { busy: 900 * mebibyte };
    const { shares: of } = shares(backlog);
    of.note('busy', { bytes: 900 * mebibyte, cost: 0 }, memory);
    await expect(of.assertRoom('busy', memory)).rejects.toThrow();
    backlog.busy = 100;
    await of.assertRoom('busy', memory);
  });
});

describe('workspaces that together fill the memory for bodies', () => {
  it('leave room for the next one, however many they are', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `sender-${index}`);
    const held = Object.fromEntries(ids.map((id) => [id, 0]));
    const { shares: of } = shares(held);
    const now = () => ({ ...memory, bytesLeft: memory.bytesMax - Object.values(held).reduce((sum, n) => sum + n) });
    const send = async (id: string) => {
      await of.assertRoom(id, now());
      held[id] = (held[id] ?? 0) + mebibyte;
      of.note(id, { bytes: held[id], cost: 0 }, now());
    };
    // Each sends a mebibyte in turn until none may.
    for (let sending = ids; sending.length > 0; ) {
      const sent = await Promise.all(
        sending.map((id) =>
          send(id)
            .then(() => [id])
            .catch(() => []),
        ),
      );
      sending = sent.flat();
    }
    expect(now().bytesLeft).toBeGreaterThan(memory.bytesMax / 50);
    await send('the next one');
  });

  it('do not take the last mebibyte that a small one may have', async () => {
    const { shares: of } = shares({ small: mebibyte });
    const full = { ...memory, bytesLeft: 0 };
    of.note('small', { bytes: mebibyte, cost: 0 }, full);
    await of.assertRoom('small', full);
  });
});

describe('a workspace whose few bytes are much work', () => {
  it('is refused while more waits than is served in a day', async () => {
    const cost = backlogCostMax + 1;
    const { shares: of } = shares({ busy: 1 }, cost);
    of.note('busy', { bytes: 1, cost }, memory);
    const refusal = await of.assertRoom('busy', memory).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'workspace_busy', retryAfterS: 5 });
    expect(String(refusal)).toMatch(/more work than 90596966400 bytes/);
    of.note('busy', { bytes: 1, cost: backlogCostMax }, memory);
    await of.assertRoom('busy', memory);
  });

  it('that sends 2,000 spans of 4 KB a second has room while the workers are away for an hour', () => {
    const spans = 2_000 * 3_600;
    expect(costOf({ spans, inflatedBytes: spans * 4_000 })).toBeLessThan(backlogCostMax);
  });
});
