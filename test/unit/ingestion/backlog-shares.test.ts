import { describe, expect, it } from 'vitest';
import { BacklogShares } from '../../../src/domains/ingestion/receive/backlog-shares.ts';
import { RateLimitedError } from '../../../src/lib/errors.ts';

const bytesMax = 1_000;

function shares(backlog: Record<string, number>) {
  const asked: string[] = [];
  const backlogBytes = async (workspaceId: string) => {
    asked.push(workspaceId);
    return backlog[workspaceId] ?? 0;
  };
  return { asked, shares: new BacklogShares({ backlogBytes }) };
}

describe('a workspace that fills more than a quarter of the memory for bodies', () => {
  it('is refused with what it has and may have, while others are not even asked about', async () => {
    const { shares: of, asked } = shares({ busy: 251, quiet: 0 });
    of.note('busy', 251, bytesMax);
    of.note('quiet', 250, bytesMax);
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
    of.note('busy', 900, bytesMax);
    await expect(of.assertRoom('busy', bytesMax)).rejects.toThrow();
    backlog.busy = 100;
    await of.assertRoom('busy', bytesMax);
  });
});
