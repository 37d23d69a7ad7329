import { describe, expect, it } from 'vitest';
import { BacklogShares } from '../../../src/domains/ingestion/receive/backlog-shares.ts';
import { RateLimitedError } from '../../../src/lib/errors.ts';
import { costOf } from '../../../src/queue/ingest-lanes.ts';
import { backlogCostMax } from '../../../src/queue/lane-schedule.ts';

const bytesMax = 1_000;

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
    const { shares: of, asked } = shares({ busy: 251, quiet: 0 });
    of.note('busy', { bytes: 251, cost: 0 }, bytesMax);
    of.note('quiet', { bytes: 250, cost: 0 }, bytesMax);
    const refusal = await of.assertRoom('busy', bytesMax).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(RateLimitedError);
    expect(refusal).toMatchObject({ code: 'workspace_busy', retryAfterS: 5 });
    expect(String(refusal)).toMatch(/251 bytes .* 250/);
    await of.assertRoom('quiet', bytesMax);
    expect(asked).toEqual(['busy']);
  });

  it('is taken again as soon as Redis says that it has been drained', async () => {
    const backlog = { busy: 900 };
    const { shares: of } = shares(backlog);
    of.note('busy', { bytes: 900, cost: 0 }, bytesMax);
    await expect(of.assertRoom('busy', bytesMax)).rejects.toThrow();
    backlog.busy = 100;
    await of.assertRoom('busy', bytesMax);
  });
});

describe('a workspace whose few bytes are much work', () => {
  it('is refused while more waits than is served in a day', async () => {
    const cost = backlogCostMax + 1;
    const { shares: of } = shares({ busy: 1 }, cost);
    of.note('busy', { bytes: 1, cost }, bytesMax);
    const refusal = await of.assertRoom('busy', bytesMax).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'workspace_busy', retryAfterS: 5 });
    expect(String(refusal)).toMatch(/more work than 90596966400 bytes/);
    of.note('busy', { bytes: 1, cost: backlogCostMax }, bytesMax);
    await of.assertRoom('busy', bytesMax);
  });

  it('that sends 2,000 spans of 4 KB a second has room while the workers are away for an hour', () => {
    const spans = 2_000 * 3_600;
    expect(costOf({ spans, inflatedBytes: spans * 4_000 })).toBeLessThan(backlogCostMax);
  });
});
