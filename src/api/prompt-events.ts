import { type NewEvent, recordEvents } from '../domains/events/index.ts';
import type { ChangeHook, ItemChange } from '../domains/versioned/index.ts';

/** Records the events of changed prompts, in the transaction of the changes. */
export const recordPromptEvents: ChangeHook = (transaction, { project: { workspaceId, projectId } }, changes) =>
  recordEvents(
    transaction,
    changes.map((change) => ({ workspaceId, projectId, ...eventOf(projectId, change) })),
  );

function eventOf(projectId: string, change: ItemChange): NewEvent {
  const { id, slug, name } = change.item;
  const prompt = { project_id: projectId, prompt_id: id, slug, name };
  if (change.did === 'version_created') {
    const { version, kind, parentVersion } = change;
    return { type: 'prompt.version_created', data: { ...prompt, version, kind, parent_version: parentVersion } };
  }
  if (change.did === 'label_moved') {
    const { label, from, to } = change;
    return { type: 'prompt.label_moved', data: { ...prompt, label, from_version: from, to_version: to } };
  }
  return { type: 'prompt.deleted', data: prompt };
}
