import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { secrets } from '../../support/identity-webhooks.ts';

const complete = {
  DATABASE_URL: 'postgres://localhost/x',
  REDIS_URL: 'redis://localhost',
  CLICKHOUSE_URL: 'http://localhost',
  ADMIN_API_KEY: 'a'.repeat(24),
  API_KEY_PEPPER: 'p'.repeat(24),
};
const base64 = (bytes: number) => Buffer.alloc(bytes, 'k').toString('base64');

test('lists of secrets are read, and without any a provider has none', () => {
  const config = readConfig({
    ...complete,
    CLERK_WEBHOOK_SECRETS: ` ${secrets.clerk} ,${secrets.clerkNext}`,
    WORKOS_WEBHOOK_SECRETS: secrets.workos,
    GENERIC_WEBHOOK_SECRETS: '',
  });
  expect(config.identityWebhookSecrets).toEqual({
    clerk: [secrets.clerk, secrets.clerkNext],
    workos: [secrets.workos],
    generic: [],
  });
  expect(readConfig(complete).identityWebhookSecrets).toEqual({ clerk: [], workos: [], generic: [] });
});

describe.each(['CLERK_WEBHOOK_SECRETS', 'GENERIC_WEBHOOK_SECRETS'])('%s', (name) => {
  test.each([`whsec_${base64(24)}`, base64(24), `whsec_${base64(25)}`, `whsec_${base64(64)}`])('takes %s', (value) => {
    expect(() => readConfig({ ...complete, [name]: value })).not.toThrow();
  });
  test.each([
    `whsec_${base64(23)}`,
    base64(23),
    'whsec_',
    ',',
    `whsec_${base64(24)},`,
    `whsec_${base64(24)},whsec_${base64(8)}`,
    'a secret of letters that is no base64',
    `whsec_${base64(25).replaceAll('=', '')}`,
  ])('refuses to start with %j, naming the variable and not the value', (value) => {
    expectRefusal(name, value);
  });
});

test.each(['x'.repeat(23), ',', ' ', `${'x'.repeat(30)},short`])('WORKOS_WEBHOOK_SECRETS refuses %j', (value) => {
  expectRefusal('WORKOS_WEBHOOK_SECRETS', value);
});

function expectRefusal(name: string, value: string): void {
  let message = '';
  try {
    readConfig({ ...complete, [name]: value });
  } catch (error) {
    message = String(error);
  }
  expect(message).toContain(`${name}: each secret in the comma-separated list must contain a key of at least 24 bytes`);
  for (const part of value.split(',').filter((item) => item.trim().length > 5)) expect(message).not.toContain(part);
}
