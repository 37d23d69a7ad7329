import { z } from 'zod';

const projectId = z.string();
const prompt = { project_id: projectId, prompt_id: z.string(), slug: z.string(), name: z.string() };
const version = z.int().positive();
const time = z.iso.datetime();

/** The data of each type of event, in the form that webhooks send. */
export const eventData = {
  'budget.threshold_reached': z.strictObject({
    project_id: projectId,
    /** The ratio of the amount that the spend has reached, such as 0.8. */
    threshold: z.number(),
    /** Decimal strings, as everywhere in the API. */
    amount: z.string(),
    spend: z.string(),
    used_ratio: z.number(),
    currency: z.string(),
    period: z.string(),
    period_start: time.nullable(),
    period_end: time.nullable(),
    budget_version: z.int(),
    /** Null for the budget of the whole project. */
    scope: z.strictObject({ by: z.string(), value: z.string() }).nullable(),
  }),
  'prompt.version_created': z.strictObject({
    ...prompt,
    version,
    kind: z.enum(['create', 'update', 'rollback', 'optimization', 'import']),
    parent_version: version.nullable(),
  }),
  'prompt.label_moved': z.strictObject({
    ...prompt,
    label: z.string(),
    /** Null when the label is new. */
    from_version: version.nullable(),
    /** Null when the label was removed. */
    to_version: version.nullable(),
  }),
  'prompt.deleted': z.strictObject(prompt),
  'optimization.finished': z.strictObject({
    project_id: projectId,
    prompt_id: z.string(),
    run_id: z.string(),
    status: z.enum(['completed', 'failed', 'cancelled']),
    /** Null unless the run completed. */
    outcome: z.enum(['improved', 'no_improvement', 'inconclusive', 'already_optimal']).nullable(),
    /** The version that the run made of its winner, if it was to do so. */
    created_version: version.nullable(),
  }),
  'quota.threshold_reached': z.strictObject({
    workspace_id: z.string(),
    resource: z.string(),
    unit: z.string(),
    threshold: z.number(),
    limit: z.number(),
    used: z.number(),
    period_start: time,
    resets_at: time,
  }),
  'webhook.test': z.strictObject({ project_id: projectId, webhook_id: z.string() }),
} as const;

export type EventType = keyof typeof eventData;

/** The type of an event with its data. */
export type NewEvent = { [T in EventType]: { type: T; data: z.infer<(typeof eventData)[T]> } }[EventType];
