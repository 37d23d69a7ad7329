import type { ProjectId } from '../../../lib/ids.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { partKind } from '../../parts/index.ts';
import { walkItems } from '../../versioned/index.ts';
import { promptKind } from '../prompt-content.ts';
import { partLine, partVersionLine, promptLine, promptVersionLine, type TransferLine } from './transfer-line.ts';

/**
 * Yields all live parts and then all live prompts of a project, with their versions. Reads while
 * the caller writes.
 * @throws UnavailableError
 */
export async function* exportLines(postgres: Postgres, projectId: ProjectId): AsyncGenerator<TransferLine> {
  for await (const { item, version } of walkItems(postgres, partKind, projectId)) {
    yield version === undefined ? partLine(item) : partVersionLine(item, version);
  }
  for await (const { item, version } of walkItems(postgres, promptKind, projectId)) {
    yield version === undefined ? promptLine(item) : promptVersionLine(item, version);
  }
}
