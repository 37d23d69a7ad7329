import { z } from 'zod';

const pid = z.int().positive();

/** The fields of connection.json that its readers may use. */
export const connectionSchema = z.strictObject({
  url: z.url(),
  workspace_id: z.string().min(1),
  project_id: z.string().min(1),
  api_key: z.string().min(1),
  admin_key: z.string().min(1),
  database_url: z.url(),
  redis_url: z.url(),
  clickhouse_url: z.url(),
  llm_base_url: z.url(),
  pids: z.strictObject({ api: pid, worker: pid, postgres: pid, redis: pid, clickhouse: pid }),
});

export type RunningConnection = z.infer<typeof connectionSchema>;
