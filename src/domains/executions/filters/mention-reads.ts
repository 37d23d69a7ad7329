import { FairLane } from '../../../lib/fair-lane.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { findPromptMentions, type PromptMentions } from '../../prompt-links/index.ts';
import type { Reader } from '../read-lanes.ts';

/** Finds what stored mentions of prompts may contain, by their ids or slugs. */
export type FindMentions = (
  reader: Reader,
  projectId: string,
  prompts: readonly string[],
) => Promise<readonly PromptMentions[]>;

/** Those that wait have a place in the lane of reads of executions, which others need. */
const waitMsMax = 1_000;

/**
 * Returns a reader of mentions. All workspaces share its places. They are not those of the lists, which need ClickHouse
 * alone unless they ask for a prompt.
 * @param whyStuck why Postgres does not answer now; undefined while it does
 */
export function createMentionReads(postgres: Postgres, whyStuck: () => Error | undefined): FindMentions {
  const lane = new FairLane({
    ...{ name: 'look-ups of prompts', capacity: 4, perKey: 1 },
    ...{ waitingPerKey: 32, waitingMax: 256, waitMsMax, whyStuck },
  });
  return ({ workspaceId, signal }, projectId, prompts) => {
    const read = async () => {
      const stuck = whyStuck();
      if (stuck !== undefined) throw stuck;
      return findPromptMentions(postgres, projectId, prompts);
    };
    return lane.run(workspaceId, read, { waiter: { signal } });
  };
}
