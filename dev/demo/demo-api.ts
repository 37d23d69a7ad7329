import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';

/** Why the demo cannot run or go on, for a person. */
export class DemoFailed extends Error {}

const connectionSchema = z.object({
  url: z.string(),
  project_id: z.string(),
  api_key: z.string(),
  llm_base_url: z.string(),
});

export interface DemoApi {
  /** The address of the project. */
  projectUrl: string;
  apiKey: string;
  /** Where on this machine the service looks for a model. */
  model: { host: string; port: number };
  dataDir: string;
  /** Calls an operation of the project. */
  call(method: string, path: string, body?: object): Promise<unknown>;
  giveFeedback(body: object): Promise<unknown>;
  callText(path: string): Promise<string>;
}

/**
 * Reads what `up` has stored for scripts.
 * @throws DemoFailed if `up` does not run, or uses a real model
 */
export function connect(env: NodeJS.ProcessEnv): DemoApi {
  const dataDir = resolve(env.DATA_DIR || '.data');
  const connection = readConnection(join(dataDir, 'connection.json'));
  const { url, project_id: projectId, api_key: apiKey } = connection;
  const projectUrl = `${url}/api/projects/${projectId}`;
  const send = async (method: string, address: string, body?: object) => {
    const response = await fetch(address, {
      method,
      headers: { 'X-API-Key': apiKey, ...(body && { 'Content-Type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new DemoFailed(`${method} ${address} answered ${response.status}: ${text.slice(0, 1_000)}`);
    return text;
  };
  return {
    ...{ projectUrl, apiKey, dataDir, model: placeOf(connection.llm_base_url) },
    call: async (method, path, body) => JSON.parse(await send(method, projectUrl + path, body)),
    giveFeedback: (body) => send('POST', `${url}/api/feedback`, body),
    callText: (path) => send('GET', projectUrl + path),
  };
}

function readConnection(path: string): z.infer<typeof connectionSchema> {
  try {
    return connectionSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    throw new DemoFailed(`There is no service: ${path} is missing or old. Run npm run up in another terminal.`);
  }
}

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost']);

function placeOf(baseUrl: string): DemoApi['model'] {
  const { hostname, port, protocol } = new URL(baseUrl);
  if (!loopback.has(hostname) || protocol !== 'http:') {
    throw new DemoFailed(
      `The service calls the models of ${hostname} (LLM_BASE_URL), so the demo could cost money. ` +
        'Stop npm run up, and start it without LLM_BASE_URL.',
    );
  }
  return { host: hostname, port: Number(port || 80) };
}
