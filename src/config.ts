import { z } from 'zod';
import { inflatedBodyBytesMax, workspaceBodyBytesMax } from './lib/body-bytes.ts';
import { clusterUrl } from './lib/cluster-settings.ts';
import { standardWebhookKey, webhookKeyBytesMin } from './lib/webhook-secret.ts';

const mebibyte = 1024 * 1024;
const secret = z.string().min(24, 'must be at least 24 characters');
const port = z.coerce.number().int().min(0).max(65_535);
const list = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((item) => item.trim() || []));
const flag = z
  .enum(['true', 'false', '1', '0'])
  .default('false')
  .transform((text) => text === 'true' || text === '1');
const bytes = (fallback: number, most = Number.MAX_SAFE_INTEGER) =>
  z.coerce
    .number({ error: 'must be a number of bytes, at least 1024' })
    .int()
    .min(1_024)
    .max(most, `must be at most ${most}`)
    .default(fallback);

const clickhouseUrl = z.url({ protocol: /^https?$/ });
const clickhouseShardUrls = z
  .string()
  .transform((text) => text.split(';').flatMap((item) => item.trim() || []))
  .pipe(z.array(clickhouseUrl).min(1, 'must name at least one URL'))
  .optional();

/** Parses a comma-separated list of secrets. `keyOf` converts a secret to its key. */
const secrets = (keyOf: (secret: string) => Uint8Array | undefined) =>
  z
    .string()
    .transform((text) => text.split(',').map((item) => item.trim()))
    .refine(
      (items) => items.every((item) => (keyOf(item)?.length ?? 0) >= webhookKeyBytesMin),
      `each secret in the comma-separated list must contain a key of at least ${webhookKeyBytesMin} bytes`,
    )
    .default([]);

export const environment = z.object({
  PORT: port.default(8787),
  HOST: z.string().min(1).default('127.0.0.1'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  REDIS_URL: z.url({
    protocol: /^rediss?(\+cluster)?$/,
    hostname: /./,
    error: 'must be a URL like redis://host:6379, or redis+cluster://host1,host2:6379 with one port for all hosts',
  }),
  CLICKHOUSE_URL: clickhouseUrl,
  CLICKHOUSE_SHARD_URLS: clickhouseShardUrls,
  CLICKHOUSE_CLUSTER: z
    .string()
    .regex(/^[\w-]+$/, 'must be the name of a cluster: letters, digits, _ and -')
    .default('promptlane'),
  ADMIN_API_KEY: secret,
  API_KEY_PEPPER: secret,
  JWT_SECRET: z
    .string()
    .refine((text) => Buffer.byteLength(text) >= 32, 'must be at least 32 bytes')
    .optional(),
  JWT_JWKS_URL: z
    .url({ protocol: /^https?$/, abort: true })
    .refine(
      isSafeFromListeners,
      'must use https, except for localhost, because a person who can change the keys can impersonate any user',
    )
    .optional(),
  JWT_ISSUER: list,
  JWT_AUDIENCE: list,
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  DEFAULT_PLAN: z.enum(['free', 'pro', 'team', 'enterprise']).default('free'),
  CLERK_WEBHOOK_SECRETS: secrets(standardWebhookKey),
  WORKOS_WEBHOOK_SECRETS: secrets((secret) => Buffer.from(secret)),
  GENERIC_WEBHOOK_SECRETS: secrets(standardWebhookKey),
  WEBHOOK_ALLOW_PRIVATE_TARGETS: flag,
  WEBHOOK_EGRESS_PROXY_URL: z.url({ protocol: /^https?$/ }).optional(),
  LLM_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be a URL such as https://api.openai.com/v1' }).optional(),
  LLM_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must not contain spaces, because it is sent in a header')
    .optional(),
  LLM_REFLECTION_MODEL: z.string().max(256).optional(),
  OTLP_BODY_BYTES_MAX: bytes(16 * mebibyte, workspaceBodyBytesMax),
  OTLP_INFLATED_BYTES_MAX: bytes(64 * mebibyte, inflatedBodyBytesMax),
  OTLP_LOGS_OTHER: z.enum(['keep', 'drop']).default('keep'),
  INGEST_QUEUE_BYTES_MAX: bytes(1024 * mebibyte),
});

/** How user tokens are verified. Without a secret and a key set no token is valid. */
export interface JwtConfig {
  secret: string | undefined;
  jwksUrl: string | undefined;
  /** Accepted issuers and audiences. An empty list accepts all. */
  issuers: readonly string[];
  audiences: readonly string[];
}

/**
 * The endpoint whose models optimizations call, by OpenAI's API. Without a URL no run can start.
 * `reflectionModel` writes the proposals of runs that name none.
 */
export interface LlmConfig {
  baseUrl: string | undefined;
  apiKey: string | undefined;
  reflectionModel: string | undefined;
}

/** All validated settings that the processes read from their environment. Sizes are in bytes. */
export interface Config {
  port: number;
  host: string;
  databaseUrl: string;
  redisUrl: string;
  /** What statements go to. */
  clickhouseUrl: string;
  /** The servers that have the tables. */
  clickhouseShardUrls: readonly string[];
  adminApiKey: string;
  apiKeyPepper: string;
  jwt: JwtConfig;
  logLevel: z.infer<typeof environment>['LOG_LEVEL'];
  defaultPlan: z.infer<typeof environment>['DEFAULT_PLAN'];
  /**
   * Secrets by identity provider, in the provider's own format. A provider without secrets is not
   * served.
   */
  identityWebhookSecrets: { clerk: readonly string[]; workos: readonly string[]; generic: readonly string[] };
  /** Where outbound webhooks may be sent to, and the HTTP proxy that they use, if any. */
  webhookTargets: { allowPrivate: boolean; proxyUrl: string | undefined };
  llm: LlmConfig;
  otlpBodyBytesMax: number;
  otlpInflatedBytesMax: number;
  /** What happens to log records without a meaning for the content of a span. */
  otlpLogsOther: z.infer<typeof environment>['OTLP_LOGS_OTHER'];
  /** If Redis sets no `maxmemory`, ingestion responds with 503 above this memory of Redis. */
  ingestQueueBytesMax: number;
}

/**
 * Reads the environment.
 * @throws ConfigError that lists every fault with the name of the variable, never with its value
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const values = parse(environment, env);
  return {
    port: values.PORT,
    host: values.HOST,
    databaseUrl: values.DATABASE_URL,
    redisUrl: values.REDIS_URL,
    clickhouseUrl: urlOfTables(values),
    clickhouseShardUrls: values.CLICKHOUSE_SHARD_URLS ?? [values.CLICKHOUSE_URL],
    adminApiKey: values.ADMIN_API_KEY,
    apiKeyPepper: values.API_KEY_PEPPER,
    jwt: {
      secret: values.JWT_SECRET,
      jwksUrl: values.JWT_JWKS_URL,
      issuers: values.JWT_ISSUER,
      audiences: values.JWT_AUDIENCE,
    },
    logLevel: values.LOG_LEVEL,
    defaultPlan: values.DEFAULT_PLAN,
    identityWebhookSecrets: {
      clerk: values.CLERK_WEBHOOK_SECRETS,
      workos: values.WORKOS_WEBHOOK_SECRETS,
      generic: values.GENERIC_WEBHOOK_SECRETS,
    },
    webhookTargets: {
      allowPrivate: values.WEBHOOK_ALLOW_PRIVATE_TARGETS,
      proxyUrl: values.WEBHOOK_EGRESS_PROXY_URL,
    },
    llm: {
      baseUrl: values.LLM_BASE_URL,
      apiKey: values.LLM_API_KEY,
      reflectionModel: values.LLM_REFLECTION_MODEL,
    },
    otlpBodyBytesMax: values.OTLP_BODY_BYTES_MAX,
    otlpInflatedBytesMax: values.OTLP_INFLATED_BYTES_MAX,
    otlpLogsOther: values.OTLP_LOGS_OTHER,
    ingestQueueBytesMax: values.INGEST_QUEUE_BYTES_MAX,
  };
}

/** Returns the URL that statements go to. */
export function urlOfTables({
  CLICKHOUSE_URL,
  CLICKHOUSE_SHARD_URLS,
}: Pick<z.output<typeof environment>, 'CLICKHOUSE_URL' | 'CLICKHOUSE_SHARD_URLS'>): string {
  return CLICKHOUSE_SHARD_URLS === undefined ? CLICKHOUSE_URL : clusterUrl(CLICKHOUSE_URL);
}

/** Only migrations read it. */
export const ownerUrl = { DATABASE_MIGRATE_URL: environment.shape.DATABASE_URL.optional() };
const everything = environment.extend(ownerUrl);

/**
 * Returns the faults that prevent processes and migrations from starting, as "NAME: why" and never
 * with a value. Empty if there are none.
 */
export function environmentFaults(env: NodeJS.ProcessEnv): string[] {
  const result = everything.safeParse(present(env));
  return result.success ? [] : describe(result.error, env);
}

/** Says in one text which environment variables are missing or not valid, never with their values. */
export class ConfigError extends Error {}

/** @throws ConfigError that lists every fault with the name of the variable */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  env: NodeJS.ProcessEnv = process.env,
): z.output<Schema> {
  const result = schema.safeParse(present(env));
  if (result.success) return result.data;
  const faults = describe(result.error, env).map((fault) => `  ${fault}`);
  throw new ConfigError(
    `These environment variables are missing or not valid:\n${faults.join('\n')}\nREADME.md lists all variables.`,
  );
}

/** Removes empty variables, because they count as not set. */
const present = (env: NodeJS.ProcessEnv) => Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));

const describe = (error: z.ZodError, env: NodeJS.ProcessEnv) =>
  error.issues.map(({ path, message }) => `${path.join('.')}: ${env[String(path[0])] ? message : 'is required'}`);

function isSafeFromListeners(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}
