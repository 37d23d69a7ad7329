import { connectPostgres, type Postgres } from '../src/stores/postgres/client.ts';
import { startOwnTarget } from './own-target.ts';
import { summarizeLatencies } from './statistics.ts';

/**
 * Measures lists, searches and reads of prompts over HTTP with 10,000 prompts of 50 versions each,
 * one request at a time. Run it with `npx tsx bench/prompts.ts`. It prints JSON.
 */
const prompts = 10_000;
const versions = 50;
const requests = 300;

const target = await startOwnTarget({ fromSource: true, profile: false });
try {
  const postgres = connectPostgres(target.databaseUrl, 1);
  const filledMs = await timed(() => fill(postgres, target.projectId));
  await postgres.destroy();
  const base = `${target.url}/api/projects/${target.projectId}/prompts`;
  const get = async (path: string): Promise<unknown> => {
    const answer = await fetch(base + path, { headers: { 'X-API-Key': target.apiKey } });
    if (!answer.ok) throw new Error(`${path} responded with ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  const cursor = nextCursor(await get('?limit=100'));
  const any = (index: number) => `p-${(index * 7_919) % prompts}`;
  const paths: Record<string, (index: number) => string> = {
    list: () => '',
    list_next_page: () => `?limit=100&cursor=${cursor}`,
    list_by_name: () => '?sort=name',
    list_by_creation: () => '?sort=-created_at',
    list_tag: (index) => `?tag=tag-${index % 50}`,
    list_label: () => '?label=production',
    search_rare: (index) => `?q=word${index}x`,
    search_two_words: (index) => `?q=prompt+word${index}x`,
    search_common: () => '?q=prompt',
    search_short: () => '?q=p',
    search_nothing: (index) => `?q=nothing${index}`,
    get: (index) => `/${any(index)}`,
    get_again: () => '/p-1',
    get_version: (index) => `/${any(index)}/versions/${1 + (index % versions)}`,
    get_label: (index) => `/${any(index + 500)}?label=production`,
    list_versions: (index) => `/${any(index)}/versions`,
    diff: (index) => `/${any(index)}/diff?from=1`,
  };
  const measured: Record<string, unknown> = {};
  for (const [name, path] of Object.entries(paths)) {
    const took = new Float64Array(requests);
    for (let index = 0; index < requests; index++) took[index] = await timed(() => get(path(index)));
    measured[name] = summarizeLatencies(took);
  }
  console.log(JSON.stringify({ prompts, versions, filled_ms: Math.round(filledMs), measured }, null, 2));
} finally {
  await target.stop();
}
process.exit();

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await run();
  return performance.now() - startedMs;
}

function nextCursor(page: unknown): string {
  if (
    typeof page === 'object' &&
    page !== null &&
    'page' in page &&
    typeof page.page === 'object' &&
    page.page !== null
  ) {
    if ('next_cursor' in page.page) return String(page.page.next_cursor);
  }
  throw new Error('There is no next page');
}

async function fill(postgres: Postgres, projectId: string): Promise<void> {
  await postgres.raw('set statement_timeout = 0');
  await postgres.raw(
    `insert into prompts (id, project_id, slug, name, description, type, tags, latest_version, created_at, updated_at)
     select 'prm_' || lpad(n::text, 26, '0'), :projectId, 'p-' || n, 'Prompt ' || n, 'About word' || n || 'x and more', 'text',
       array['tag-' || n % 50, 'all'], :versions, now() - n * interval '1 minute', now() - (n * 7919 % :prompts) * interval '1 second'
     from generate_series(0, :prompts - 1) as n`,
    { projectId, prompts, versions },
  );
  await postgres.raw(
    `insert into prompt_versions
       (project_id, prompt_id, version, template, template_hash, content_hash, template_format, kind, author_type)
     select :projectId, id, version, template, hash, hash, 'mustache', 'update', 'api_key'
     from prompts cross join generate_series(1, :versions) as version
     cross join lateral (select repeat('Line of ' || slug || chr(10), 30) || version as template) as text
     cross join lateral (select encode(sha256(convert_to(template, 'UTF8')), 'hex') as hash) as hashed`,
    { projectId, versions },
  );
  await postgres.raw(
    `insert into prompt_labels (project_id, prompt_id, label, version)
     select project_id, id, 'production', 25 from prompts where project_id = :projectId`,
    { projectId },
  );
  await postgres.raw('vacuum analyze prompts, prompt_versions, prompt_labels');
}
