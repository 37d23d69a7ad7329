import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isScope } from '../../../src/domains/auth/index.ts';
import { newId } from '../../../src/lib/ids.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import { createCredentials } from '../../support/matrix/credentials.ts';
import { createFingerprint } from '../../support/matrix/fingerprint.ts';
import { mountedRoutes } from '../../support/matrix/mounted-routes.ts';
import { namingFields, namingFieldsOf } from '../../support/matrix/named-in-bodies.ts';
import { traces } from '../../support/matrix/send.ts';
import { type Cell, type SweepDeps, sweep } from '../../support/matrix/sweep.ts';
import { formatMatrix } from '../../support/matrix/table.ts';
import { createTenants } from '../../support/matrix/tenants.ts';
import { aModelCall, newTraceId } from '../../support/spans.ts';
import { sendSpans, untilStored } from '../../support/traces.ts';

/**
 * Every contract there is, against every kind of credential and of id: what `authorize` decides,
 * before any handler.
 */
let api: TestApi;
let deps: SweepDeps;
const cells: Cell[] = [];

beforeAll(async () => {
  api = await startApi();
  const tenants = await createTenants(api);
  const credentials = await createCredentials(api, tenants);
  deps = { api, tenants, credentials, fingerprint: await createFingerprint(api.postgres, tenants) };
});
afterAll(async () => {
  // `npm run security:matrix` asks for it.
  if (process.env.PRINT_SECURITY_MATRIX === '1') console.log(formatMatrix(cells));
  await api?.close();
});

const routesOf = (contracts: readonly { method: string; path: string }[]) =>
  contracts.map(({ method, path }) => `${method} ${path}`).sort();

describe('the routes that are served', () => {
  test('are those of the contracts, no more and no fewer', async () => {
    const { paths, others } = mountedRoutes(api.process.app);
    const contracts = api.process.endpoints;
    expect(paths.sort()).toEqual([...new Set(contracts.map(({ path }) => path))].sort());
    // What starts a request, what answers an unknown route, and what answers an error.
    expect(others).toBe(3);
    const served = await Promise.all(
      paths.map(async (path) => {
        const { headers } = await fetch(api.url + path.replaceAll(/[{}]/g, ''), { method: 'OPTIONS' });
        const methods = (headers.get('allow') ?? '').split(', ').filter((method) => !/^(HEAD|OPTIONS)$/.test(method));
        return methods.map((method) => ({ method, path }));
      }),
    );
    expect(routesOf(served.flat())).toEqual(routesOf(contracts));
  });

  test('are those of the OpenAPI document', async () => {
    const { body } = await api.call<{ paths: Record<string, Record<string, unknown>> }>('getOpenapi');
    const documented = Object.entries(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => /^(get|put|post|patch|delete)$/.test(method))
        .map((method) => ({ method: method.toUpperCase(), path })),
    );
    expect(routesOf(documented)).toEqual(routesOf(api.process.endpoints));
  });

  test('name a scope that keys can have, where they name one', () => {
    for (const { operationId, access } of api.process.endpoints) {
      if ('scope' in access) expect(isScope(access.scope), operationId).toBe(true);
    }
  });
});

test('every contract answers every credential and every id as the table says, and refusals change nothing', async () => {
  const faults: string[] = [];
  for (const contract of api.process.endpoints) {
    const swept = await sweep(deps, contract);
    cells.push(...swept.cells);
    faults.push(...swept.faults);
  }
  expect(faults.slice(0, 20)).toEqual([]);
  expect(new Set(cells.map(({ operationId }) => operationId)).size).toBe(api.process.endpoints.length);
}, 300_000);

describe('what a body names', () => {
  test('is known to this test, field by field', () => {
    const fields = deps.api.process.endpoints.flatMap(namingFieldsOf);
    expect(fields.sort()).toEqual(Object.keys(namingFields).sort());
  });

  test.each(['sibling', 'foreign'] as const)("is not there when it is the %s project's", async (kind) => {
    const { own, [kind]: other } = deps.tenants;
    const validate = async (promptId: string, partSlug: string) => {
      const params = { project_id: own.project.id };
      const key = own.project.key;
      const naming = { part_slug: partSlug, compare_to: { prompt_id: promptId } };
      const bodies = [{ template: 'draft', ...naming }, { template: `{{> ${partSlug}}}` }];
      const answers = await Promise.all(bodies.map((body) => api.call('validatePrompt', { params, key, body })));
      return answers.map(({ status, text }) => {
        const parsed = JSON.parse(text.replaceAll(promptId, '<prompt>').replaceAll(partSlug, '<slug-of-a-part>'));
        return { status, code: parsed.code, detail: parsed.detail, errors: codesOf(parsed), parts: parsed.parts };
      });
    };
    const given = await validate(other.promptId, other.partSlug);
    expect(given).toEqual(await validate(newId('prm'), 'a-part-that-never-was'));
    expect(given).toMatchObject([{ code: 'prompt_not_found' }, { errors: ['unknown_part'] }]);
  });
});

const codesOf = ({ errors = [] }: { errors?: { code: string }[] }) => errors.map(({ code }) => code);

test('no span of a refused request is stored', async () => {
  const { project } = deps.tenants.own;
  // What was accepted before this one is stored with it or before.
  const last = aModelCall(1, 1, { traceId: newTraceId() });
  await sendSpans(api, project.key, [last]);
  await untilStored(api, project, last.traceId);
  for (const { project } of [deps.tenants.own, deps.tenants.sibling, deps.tenants.foreign]) {
    const params = { project_id: project.id, trace_id: traces.refused };
    const answer = await api.call('getExecution', { params, key: project.key });
    expect(answer.status).toBe(404);
  }
  const params = { project_id: project.id, trace_id: traces.admitted };
  expect((await api.call('getExecution', { params, key: project.key })).status).toBe(200);
});
