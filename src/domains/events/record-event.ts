import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { NewEvent } from './event.ts';

/** An event and whom it concerns. Without a project, it concerns every project of the workspace. */
export type EventToRecord = {
  workspaceId: string;
  projectId: string | null;
  /** The only webhooks that get it; otherwise all that want it. */
  webhookIds?: readonly string[] | null;
} & NewEvent;

/** Rows of one INSERT. */
const rowsMax = 500;

/**
 * Records an event in the transaction that makes it happen, so that both are stored or neither.
 * Returns its id, which receivers get as `webhook-id`.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function recordEvent(transaction: Postgres, event: EventToRecord): Promise<string> {
  const row = rowOf(event);
  await transaction('events').insert(row);
  return row.id;
}

/**
 * Records events in their order, as {@link recordEvent} does.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function recordEvents(transaction: Postgres, events: readonly EventToRecord[]): Promise<void> {
  for (let start = 0; start < events.length; start += rowsMax) {
    await transaction('events').insert(events.slice(start, start + rowsMax).map(rowOf));
  }
}

function rowOf({ workspaceId, projectId, webhookIds, type, data }: EventToRecord) {
  return {
    id: newId('evt'),
    workspace_id: workspaceId,
    project_id: projectId,
    webhook_ids: webhookIds ? [...webhookIds] : null,
    type,
    data: JSON.stringify(data),
  };
}
