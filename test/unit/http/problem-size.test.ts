import { describe, expect, test } from 'vitest';
import { MissingVariablesError } from '../../../src/domains/templates/index.ts';
import { toProblem } from '../../../src/http/problem.ts';
import { InvalidError } from '../../../src/lib/errors.ts';

const where = { requestId: 'r', instance: '/x' };
const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const faultsOf = (names: readonly string[]) =>
  names.map((name) => ({ path: name, code: 'extra_variable', message: `There is no \`${name}\`` }));
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** A control character has one byte as sent, and six as JSON. */
const control = '\u0001';
const longNames = numbered('n', 2_000).map((name) => name.padEnd(1_024, '_'));

describe('a problem', () => {
  test.each([
    ['many missing names', new MissingVariablesError(numbered('v', 25_000))],
    ['long missing names', new MissingVariablesError(longNames)],
    ['missing names of control characters', new MissingVariablesError(longNames.map(() => control.repeat(1_024)))],
    ['faults with long paths', new InvalidError('invalid_body', 'x', { errors: faultsOf(longNames.slice(0, 100)) })],
    [
      'a few names of a megabyte',
      new InvalidError('invalid_body', 'x', { errors: faultsOf(['x'.repeat(1_000_000), '✓'.repeat(1_000_000)]) }),
    ],
    ['a long detail', new InvalidError('invalid_body', control.repeat(1_000_000), { errors: faultsOf(longNames) })],
    ['a member of many values', new InvalidError('invalid_body', 'x', { extra: { limits: { all: longNames } } })],
    [
      'many members',
      new InvalidError('invalid_body', 'x', {
        extra: Object.fromEntries(longNames.slice(0, 200).map((name) => [name, [name]])),
      }),
    ],
  ])('of %s has at most 64 KiB', (_what, error) => {
    expect(bytesOf(toProblem(error, where))).toBeLessThanOrEqual(64 * 1024);
  });

  test('says that names are left out, and has the first ones and the first faults', () => {
    const problem = toProblem(new MissingVariablesError(longNames), where);
    const missing: unknown = problem.missing;
    expect(missing).toEqual(longNames.slice(0, (missing as string[]).length).map((name) => name.slice(0, 500)));
    expect(problem).toMatchObject({ code: 'missing_variables', status: 422, truncated: true });
    expect(problem.errors?.length).toBeGreaterThan(5);
    expect(problem.detail.length).toBeLessThan(600);
  });

  test('of 2,000 missing variables with ordinary names names all of them, and describes many', () => {
    const names = numbered('customer_address_', 2_000);
    const problem = toProblem(new MissingVariablesError(names), where);
    expect(problem.missing).toEqual(names);
    expect(problem.errors?.length).toBeGreaterThan(50);
  });

  test('of 100 faults with ordinary paths has all of them', () => {
    const errors = faultsOf(numbered('variables.customer_', 100));
    expect(toProblem(new InvalidError('invalid_variables', 'x', { errors }), where)).toEqual({
      ...{ type: 'urn:promptlane:problem:invalid_variables', title: expect.any(String), status: 422 },
      ...{ detail: 'x', instance: '/x', code: 'invalid_variables', request_id: 'r', errors },
    });
  });

  test('has at most 500 characters of the path, the message and other texts of a fault', () => {
    const fault = { path: 'p'.repeat(501), code: 'c', message: 'm'.repeat(501), suggestion: 's'.repeat(501), line: 1 };
    const [shown] = toProblem(new InvalidError('invalid_template', 'x', { errors: [fault] }), where).errors ?? [];
    expect(shown).toEqual({
      ...{ path: 'p'.repeat(500), code: 'c', message: 'm'.repeat(500), suggestion: 's'.repeat(500), line: 1 },
    });
  });
});
