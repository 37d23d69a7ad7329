import { describe, expect, test } from 'vitest';
import { readClickHouseUrl } from '../../../src/cli/store-urls.ts';
import { readConfig } from '../../../src/config.ts';
import { BodyIntake } from '../../../src/http/body-intake.ts';

const complete = {
  DATABASE_URL: 'postgres://localhost/x',
  REDIS_URL: 'redis://localhost',
  CLICKHOUSE_URL: 'http://localhost:8123',
  ADMIN_API_KEY: 'a'.repeat(24),
  API_KEY_PEPPER: 'p'.repeat(24),
};
const read = (env: Record<string, string>) => readConfig({ ...complete, ...env });

describe('what makes tokens valid', () => {
  test('is nothing unless it is set; empty counts as not set', () => {
    const none = { secret: undefined, jwksUrl: undefined, issuers: [], audiences: [] };
    expect(read({}).jwt).toEqual(none);
    expect(read({ JWT_SECRET: '', JWT_JWKS_URL: '', JWT_ISSUER: '' }).jwt).toEqual(none);
  });

  test('may name several issuers and audiences', () => {
    const { jwt } = read({ JWT_ISSUER: 'https://a.example, https://b.example', JWT_AUDIENCE: 'one,' });
    expect(jwt).toMatchObject({ issuers: ['https://a.example', 'https://b.example'], audiences: ['one'] });
  });

  test.each(['https://idp.example/jwks', 'http://127.0.0.1:9/jwks', 'http://localhost/jwks', 'http://[::1]/jwks'])(
    'may be fetched from %s',
    (url) => {
      expect(read({ JWT_JWKS_URL: url }).jwt.jwksUrl).toBe(url);
    },
  );

  test.each([
    [{ JWT_SECRET: 'x'.repeat(31) }, /JWT_SECRET: must be at least 32 bytes/],
    [{ JWT_JWKS_URL: 'http://idp.example/jwks' }, /JWT_JWKS_URL: must use https/],
    [{ JWT_JWKS_URL: 'http://localhost.evil.example/jwks' }, /JWT_JWKS_URL: must use https/],
    [{ JWT_JWKS_URL: 'file:///etc/jwks' }, /JWT_JWKS_URL/],
    [{ JWT_JWKS_URL: 'junk' }, /JWT_JWKS_URL: Invalid URL/],
  ])('refuses to start with %j', (env, fault) => {
    expect(() => read(env)).toThrow(fault);
  });

  test('is never quoted in a fault', () => {
    expect(() => read({ JWT_SECRET: 'a short secret' })).not.toThrow(/a short secret/);
  });
});

describe('Redis', () => {
  test.each(['redis://localhost', 'rediss://r:1', 'redis+cluster://:secret@a,b:7000'])('may be at %s', (url) => {
    expect(read({ REDIS_URL: url }).redisUrl).toBe(url);
  });

  test.each(['redis+cluster://a:7000,b:7001', 'redis+cluster://', 'http://localhost', 'junk'])(
    'cannot be at %s: the fault says which forms there are',
    (url) =>
      expect(() => read({ REDIS_URL: url })).toThrow(/REDIS_URL: must be a URL like redis:.+ one port for all hosts/),
  );
});

describe('ClickHouse', () => {
  test('is one server unless shards are named', () => {
    expect(read({ CLICKHOUSE_SHARD_URLS: '' })).toMatchObject({
      ...{ clickhouseUrl: complete.CLICKHOUSE_URL, clickhouseShardUrls: [complete.CLICKHOUSE_URL] },
    });
  });

  test('on shards: statements carry the settings that `Distributed` tables require', () => {
    const set = read({ CLICKHOUSE_SHARD_URLS: 'http://a:8123/pl; http://b:8123/pl' });
    expect(set.clickhouseShardUrls).toEqual(['http://a:8123/pl', 'http://b:8123/pl']);
    expect(Object.fromEntries(new URL(set.clickhouseUrl).searchParams)).toEqual({
      clickhouse_setting_distributed_product_mode: 'local',
      clickhouse_setting_distributed_foreground_insert: '1',
      clickhouse_setting_optimize_skip_unused_shards: '1',
      clickhouse_setting_skip_unavailable_shards: '0',
    });
    expect(readClickHouseUrl({ ...complete, CLICKHOUSE_SHARD_URLS: 'http://a:8123/pl' })).toContain('=local');
  });

  test.each([
    [{ CLICKHOUSE_SHARD_URLS: 'a:9000' }, /CLICKHOUSE_SHARD_URLS/],
    [{ CLICKHOUSE_CLUSTER: "a'b" }, /CLICKHOUSE_CLUSTER: must be the name of a cluster/],
  ])('does not start with %j', (env, fault) => {
    expect(() => read(env)).toThrow(fault);
  });
});

describe('targets of outbound webhooks', () => {
  test('are public and without a proxy unless it is set', () => {
    expect(read({ WEBHOOK_ALLOW_PRIVATE_TARGETS: '', WEBHOOK_EGRESS_PROXY_URL: '' }).webhookTargets).toEqual({
      ...{ allowPrivate: false, proxyUrl: undefined },
    });
    const proxyUrl = 'http://egress:secret@proxy.example:3128';
    const set = read({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', WEBHOOK_EGRESS_PROXY_URL: proxyUrl });
    expect(set.webhookTargets).toEqual({ allowPrivate: true, proxyUrl });
    expect(read({ WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' }).webhookTargets.allowPrivate).toBe(true);
  });

  test.each([
    [{ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'maybe' }, /WEBHOOK_ALLOW_PRIVATE_TARGETS/],
    [{ WEBHOOK_EGRESS_PROXY_URL: 'socks5://user:hidden@proxy.example' }, /WEBHOOK_EGRESS_PROXY_URL/],
  ])('refuse %j', (env, fault) => {
    expect(() => read(env)).toThrow(fault);
    expect(() => read(env)).not.toThrow(/hidden/);
  });
});

describe('the endpoint of models', () => {
  test('is none unless it is set; empty counts as not set', () => {
    const none = { baseUrl: undefined, apiKey: undefined, reflectionModel: undefined };
    expect(read({ LLM_BASE_URL: '', LLM_API_KEY: '', LLM_REFLECTION_MODEL: '' }).llm).toEqual(none);
  });

  test('may be any http address, without a key', () => {
    const { llm } = read({ LLM_BASE_URL: 'http://127.0.0.1:11434/v1', LLM_REFLECTION_MODEL: 'gpt-5' });
    expect(llm).toEqual({ baseUrl: 'http://127.0.0.1:11434/v1', apiKey: undefined, reflectionModel: 'gpt-5' });
  });

  test.each([
    [{ LLM_BASE_URL: 'ftp://models.example/hidden' }, /LLM_BASE_URL/],
    [{ LLM_API_KEY: 'hidden key' }, /LLM_API_KEY: must not contain spaces/],
  ])('refuses %j', (env, fault) => {
    expect(() => read(env)).toThrow(fault);
    expect(() => read(env)).not.toThrow(/hidden/);
  });
});

describe('the largest body of OTLP', () => {
  const mebibyte = 1024 * 1024;

  test.each([
    ['OTLP_BODY_BYTES_MAX', 48],
    ['OTLP_INFLATED_BYTES_MAX', 96],
  ])('%s is at most %i MiB, because a larger body would never be taken or stored', (name, most) => {
    expect(() => read({ [name]: String(most * mebibyte) })).not.toThrow();
    expect(() => read({ [name]: String(most * mebibyte + 1) })).toThrow(`${name}: must be at most ${most * mebibyte}`);
  });

  test('fits in what a workspace may send at a time', () => {
    const { otlpBodyBytesMax: bytes } = read({ OTLP_BODY_BYTES_MAX: String(48 * mebibyte) });
    const body = new BodyIntake().open('a workspace');
    for (let taken = 0; taken < bytes; taken += mebibyte) body.take(mebibyte);
    expect(body.bytes).toBe(bytes);
  });
});
