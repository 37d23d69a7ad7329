import { expect, test } from 'vitest';
import { describeBreaches, judge } from '../../support/statements/judge.ts';
import { exceptions, type Heard } from '../../support/statements/rules.ts';

const heard = (engine: Heard['engine'], text: string, values = ''): Heard => ({ engine, text, values });

test.each([
  heard('postgres', 'select * from "prompts" where "id" = $1', `$1 = 'prm_01'`),
  heard('postgres', 'select 1 from users u left join public.memberships m on true'),
  heard('postgres', 'update parts set name = $1', `$1 = 'project'`),
  heard('postgres', 'delete from only "api_keys"'),
  heard('clickhouse', 'SELECT count() FROM spans WHERE trace_id = {traceId:String}', 'abc'),
  heard('clickhouse', 'SELECT 1 FROM promptlane.executions FINAL'),
])('a statement that touches a table of tenants without the id of one is a breach: %j', async (statement) => {
  const breaches = await judge([statement, statement]);
  expect(breaches).toMatchObject([{ text: statement.text, times: 2 }]);
  expect(describeBreaches(breaches)).toContain(statement.text);
});

test.each([
  heard(
    'postgres',
    'select * from "prompts" where "project_id" = $1',
    `Parameters: $1 = 'prj_01m81k19mfh3hx3cn2pn32gg5p'`,
  ),
  heard(
    'postgres',
    'select * from "memberships" where "workspace_id" = $1',
    `Parameters: $1 = 'wsp_01m81k19mfh3hx3cn2pn32gg5p'`,
  ),
  heard('postgres', 'select * from "users"'),
  heard('postgres', 'select from_prompts from changes'),
  heard('clickhouse', 'SELECT 1 FROM spans WHERE project_id = {projectId:String}', 'prj_01m81k19mfh3hx3cn2pn32gg5p'),
])('one that binds it, or touches none, is not: %j', async (statement) => {
  expect(await judge([statement])).toEqual([]);
});

test('an exception excuses its statement alone, and says why', async () => {
  const statement = heard('postgres', 'select * from "prompts"');
  const excused = [{ engine: 'postgres', statement: /^select \* from "prompts"$/, why: 'a test' }] as const;
  expect(await judge([statement], excused)).toEqual([]);
  expect(await judge([{ ...statement, text: `${statement.text} limit 1` }], excused)).toHaveLength(1);
  for (const { why } of exceptions) expect(why).toMatch(/\w{3}/);
});
