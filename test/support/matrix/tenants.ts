import { randomUUID } from 'node:crypto';
import { newId } from '../../../src/lib/ids.ts';
import { newKey, newProject, type ProjectOfTest, type TestApi } from '../api.ts';
import { failIdentityEvent } from '../identity-state.ts';
import { encodeSpans } from '../otlp-encode.ts';
import type { WireItem } from '../prompt-api.ts';
import { payloadOf } from '../quarantine.ts';
import { aModelCall, newTraceId } from '../spans.ts';
import { sendSpans, untilStored } from '../traces.ts';
import { newUser, type TestUser } from '../users.ts';
import { insertEndedRun } from './runs.ts';
import { insertWebhook } from './webhooks.ts';

/** Every text of the foreign tenant contains this word. No other tenant may receive it. */
export const canary = `canary${randomUUID().replaceAll('-', '')}`;

/** A project with one resource of each kind that a path can name. */
export interface Place {
  project: ProjectOfTest;
  traceId: string;
  spanId: string;
  /** A value of the path parameter `part`. Only spans of the own project have this part. */
  spanPart: string;
  keyId: string;
  userId: string;
  bodyId: string;
  failedEventId: string;
  webhookId: string;
  deliveryId: string;
  feedbackId: string;
  promptId: string;
  runId: string;
  candidateId: string;
  partSlug: string;
  /** A label of the newest version of the prompt and of the part. */
  label: string;
  versions: number;
}

export interface Tenants {
  own: Place;
  /** Another project of the same workspace. */
  sibling: Place;
  /** A project of another workspace. */
  foreign: Place;
  users: Readonly<Record<Role, TestUser>>;
  foreignOwner: TestUser;
  /** The export of the prompts and parts of the own project. */
  exported: string;
}

export type Role = 'viewer' | 'member' | 'admin' | 'owner';
export const roles: readonly Role[] = ['viewer', 'member', 'admin', 'owner'];

export async function createTenants(api: TestApi): Promise<Tenants> {
  const own = await newProject(api);
  const foreign = await newProject(api);
  const { id } = await api.admin<{ id: string }>(
    'createProject',
    { params: { workspace_id: own.workspaceId }, body: { name: 'sibling' } },
    201,
  );
  const sibling = { id, workspaceId: own.workspaceId, key: (await newKey(api, id, {})).key };
  await api.postgres('workspaces').where({ id: foreign.workspaceId }).update({ name: canary });
  await api.postgres('projects').where({ id: foreign.id }).update({ name: canary });
  const [viewer, member, admin, owner] = await Promise.all(
    roles.map((role) => newUser(api, { workspaceId: own.workspaceId, role })),
  );
  const foreignOwner = await newUser(api, { workspaceId: foreign.workspaceId, role: 'owner' });
  if (!viewer || !member || !admin || !owner) throw new Error('A role has no user');
  const places = await Promise.all([
    furnish(api, own, { text: 'own', label: 'own', versions: 1 }),
    furnish(api, sibling, { text: 'sibling', label: 'sibling', versions: 2 }),
    furnish(api, foreign, { text: canary, label: 'foreign', versions: 3 }),
  ]);
  // The first use of a token creates a personal workspace. After this, the data of these users does
  // not change without a request.
  for (const { token } of [viewer, member, admin, owner, foreignOwner]) await api.call('getContext', { token });
  const [ownPlace, siblingPlace, foreignPlace] = places;
  const exported = await fetch(`${api.url}/api/projects/${own.id}/prompts/export`, {
    headers: { 'X-API-Key': own.key },
  });
  return {
    own: ownPlace,
    sibling: siblingPlace,
    foreign: foreignPlace,
    users: { viewer, member, admin, owner },
    foreignOwner,
    exported: await exported.text(),
  };
}

interface Furniture {
  text: string;
  label: string;
  versions: number;
}

async function furnish(api: TestApi, project: ProjectOfTest, { text, label, versions }: Furniture): Promise<Place> {
  const traceId = newTraceId();
  const span = aModelCall(1, 1, { traceId, name: text, attributes: { 'app.note': text } });
  await sendSpans(api, project.key, [span]);
  const prices = [{ model: text, input_per_million: '1', output_per_million: '1' }];
  await api.admin('putModelPrices', { params: { project_id: project.id }, body: { prices } }, 200);
  const key = await newKey(api, project.id, { name: text });
  const user = await newUser(api, { workspaceId: project.workspaceId, role: 'member' });
  await api
    .postgres('users')
    .where({ id: user.id })
    .update({ name: text, email: `${text}@example.test` });
  const bodyId = await quarantine(api, project, text);
  const failedEventId = await failIdentityEvent(api.config.redisUrl);
  const feedbackId = await newFeedback(api, project, text);
  const part = await newItem(api, project, 'Part', { text, label, versions, body: { template: text } });
  const prompt = await newItem(api, project, 'Prompt', {
    ...{ text, label, versions },
    body: { type: 'text', template: `${text} {{> ${part.slug}}}` },
  });
  const run = await insertEndedRun(api, project, prompt.id, text);
  const webhook = await insertWebhook(api, project, text);
  await untilStored(api, project, traceId);
  const ids = {
    traceId,
    spanId: span.spanId,
    spanPart: text === 'own' ? 'attributes' : text,
    keyId: key.id,
    userId: user.id,
    bodyId,
    failedEventId,
    ...webhook,
    ...run,
    feedbackId,
    promptId: prompt.id,
    partSlug: part.slug,
  };
  return { project, ...ids, label, versions };
}

/** Creates feedback on the product and returns its id. */
export async function newFeedback(api: TestApi, project: ProjectOfTest, text: string): Promise<string> {
  const body = { target_type: 'product', name: randomUUID(), comment: text };
  const { body: created } = await api.call<{ id: string }>('createFeedback', { key: project.key, body });
  return created.id;
}

/** Creates a prompt or a part with this number of versions. The newest version has the label. */
export async function newItem(
  api: TestApi,
  project: ProjectOfTest,
  title: 'Prompt' | 'Part',
  { text, label, versions = 1, body }: Partial<Furniture> & { text: string; body: object },
): Promise<WireItem> {
  const params = { project_id: project.id };
  const named = { name: text, description: text, tags: [text], commit_message: text };
  const item = await api.admin<WireItem>(`create${title}`, { params, body: { ...named, ...body } }, 201);
  const ofItem = { ...params, prompt_id: item.id, part_id: item.id };
  for (let version = 2; version <= versions; version++) {
    const options = { params: ofItem, body: { template: `${text} ${version}`, commit_message: text } };
    await api.admin(`update${title}`, options, 200);
  }
  if (label !== undefined) {
    await api.admin(`put${title}Label`, { params: { ...ofItem, label }, body: { version: versions } }, 200);
  }
  return item;
}

async function quarantine(api: TestApi, project: ProjectOfTest, text: string): Promise<string> {
  const body = Buffer.from(encodeSpans('protobuf', [aModelCall(1, 1, { name: text })]));
  const jobId = newId('evt');
  await api.postgres('quarantined_bodies').insert({
    job_id: jobId,
    project_id: project.id,
    reason: text,
    attempts: 1,
    job: payloadOf(project, body),
    body,
  });
  return jobId;
}
