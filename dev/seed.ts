import { describeApiKey } from '../src/domains/auth/api-key-token.ts';
import { mintApiKey, scopes } from '../src/domains/auth/index.ts';
import { newId } from '../src/lib/ids.ts';
import { connectPostgres, type Postgres } from '../src/stores/postgres/client.ts';

export interface Seed {
  workspaceId: string;
  projectId: string;
  apiKey: string;
}

/**
 * Creates the first workspace and project with an API key with every scope, once. `apiKey` is the
 * key of an earlier start, which stays valid.
 */
export async function seed(options: {
  databaseUrl: string;
  apiKeyPepper: string;
  apiKey?: string | undefined;
  plan?: string;
}): Promise<Seed> {
  const postgres = connectPostgres(options.databaseUrl, 1);
  try {
    const workspaceId = await ensureWorkspace(postgres, options.plan ?? 'enterprise');
    const projectId = await ensureProject(postgres, workspaceId);
    const minted =
      options.apiKey === undefined
        ? mintApiKey(options.apiKeyPepper)
        : describeApiKey(options.apiKey, options.apiKeyPepper);
    await postgres('api_keys')
      .insert({
        id: newId('key'),
        project_id: projectId,
        name: 'default',
        lookup_id: minted.lookupId,
        secret_digest: minted.digest,
        last4: minted.last4,
        scopes,
      })
      .onConflict('lookup_id')
      .ignore();
    return { workspaceId, projectId, apiKey: minted.key };
  } finally {
    await postgres.destroy();
  }
}

async function ensureWorkspace(postgres: Postgres, plan: string): Promise<string> {
  const found = await postgres('workspaces')
    .where({ name: 'default' })
    .orderBy('created_at')
    .first<{ id: string }>('id');
  if (found !== undefined) return found.id;
  const id = newId('wsp');
  await postgres('workspaces').insert({ id, name: 'default', plan });
  return id;
}

async function ensureProject(postgres: Postgres, workspaceId: string): Promise<string> {
  await postgres('projects')
    .insert({ id: newId('prj'), workspace_id: workspaceId, name: 'default', is_default: true })
    .onConflict(['workspace_id', 'name'])
    .ignore();
  const found = await postgres('projects')
    .where({ workspace_id: workspaceId, name: 'default' })
    .first<{ id: string }>('id');
  if (found === undefined) throw new Error('The default project could not be created');
  return found.id;
}
