import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { type IdentityState, readIdentityState } from '../support/identity-state.ts';
import { postClerk, secrets } from '../support/identity-webhooks.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const members = 40;

describe('identity events', () => {
  let stack: Stack;
  let postgres: Postgres;
  beforeAll(async () => {
    stack = await startStack({
      env: { CLERK_WEBHOOK_SECRETS: `${secrets.clerkNext},${secrets.clerk}`, LOG_LEVEL: 'trace' },
    });
    postgres = connectPostgres(stack.engines.postgres.url, 2);
  });
  afterAll(async () => {
    await postgres?.destroy();
    await stack?.stop();
  });

  function memberEvent(prefix: string, index: number) {
    const organization = { id: `${prefix}org` };
    const data = {
      organization,
      public_user_data: { user_id: `${prefix}${index}` },
      role: 'org:member',
      updated_at: 1,
    };
    return { type: 'organizationMembership.created', data };
  }

  async function sendAll(prefix: string, indexes: readonly number[]): Promise<void> {
    const events = indexes.map((index) => ({ id: `${prefix}${index}`, event: memberEvent(prefix, index) }));
    const answers = await Promise.all(events.map(({ id, event }) => postClerk({ url: stack.apiUrl }, event, { id })));
    expect(answers.map(({ status }) => status)).toEqual(indexes.map(() => 202));
  }

  function untilAllIn(prefix: string): Promise<IdentityState> {
    return until('every member is in', 30_000, async () => {
      const state = await readIdentityState(postgres, prefix);
      return state.members.length === members && state;
    });
  }

  async function expectOnce(prefix: string): Promise<void> {
    const applied = await postgres('identity_events').whereLike('event_id', `${prefix}%`).select('event_id');
    const audited = await postgres('audit_log')
      .whereRaw("details->>'event_id' like ?", [`${prefix}%`])
      .select('action');
    const added = audited.filter(({ action }) => action === 'member.added');
    expect([applied.length, added.length]).toEqual([members, members]);
  }

  const all = Array.from({ length: members }, (_, index) => index);

  it('accepted while no worker runs, by an API that is killed then, are applied once a worker runs', async () => {
    showLogsOnFailure(stack);
    const prefix = `${randomUUID()}:`;
    await stack.worker.kill();
    await sendAll(prefix, all);
    await stack.api.kill();
    expect((await readIdentityState(postgres, prefix)).members).toEqual([]);
    await stack.worker.start();
    await untilAllIn(prefix);
    await expectOnce(prefix);
    await stack.api.start();
  });

  it('under way in a worker that is killed, again and again, are applied once each', async () => {
    showLogsOnFailure(stack);
    const prefix = `${randomUUID()}:`;
    for (let from = 0; from < members; from += 10) {
      await sendAll(prefix, all.slice(from, from + 10));
      await stack.worker.kill();
      await stack.worker.start();
    }
    await untilAllIn(prefix);
    await expectOnce(prefix);
  });

  it('are not told to the logs: no secret, no signature, nothing of a payload', async () => {
    const prefix = `${randomUUID()}:`;
    const secretWords = {
      first_name: 'Leaky',
      last_name: 'McLeakface',
      email_addresses: [{ email_address: 'leak@example.test' }],
    };
    const event = { type: 'user.created', data: { id: `${prefix}subject`, updated_at: 1, ...secretWords } };
    await postClerk({ url: stack.apiUrl }, event, { id: `${prefix}1` });
    await postClerk({ url: stack.apiUrl }, event, { id: `${prefix}2`, secret: secrets.generic });
    await postClerk({ url: stack.apiUrl }, { ...event, data: { ...secretWords, id: 7 } }, { id: `${prefix}3` });
    await until('the event applied', 30_000, () =>
      postgres('users')
        .where({ subject: `${prefix}subject` })
        .first('id'),
    );
    const log = stack.api.log() + stack.worker.log();
    expect(log).toContain('"provider":"clerk"');
    for (const word of ['Leaky', 'McLeakface', 'leak@', prefix, secrets.clerk, secrets.clerkNext, 'v1,']) {
      expect(log.includes(word), word).toBe(false);
    }
  });
});
