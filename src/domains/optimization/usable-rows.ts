import { fingerprintOf } from '../../lib/cursor.ts';
import { type Fault, InvalidError } from '../../lib/errors.ts';
import { mapInSlices, type Rest } from '../../lib/pace.ts';
import { type MetricConfig, needsOf, prepareMetrics } from '../prompt-search/index.ts';
import { descend, isMissing, TemplateLimitError } from '../templates/index.ts';
import { optimizeLimits } from './optimize.schema.ts';
import type { RunWarning } from './run.ts';
import { type KeyedRow, type RowInput, rowKeyOf, rowLimits } from './split-rows.ts';

export interface UsableRows {
  rows: KeyedRow[];
  /** Rows that were left out. */
  dropped: number;
  warnings: RunWarning[];
}

const faultsMax = 20;

/**
 * Leaves out rows that a run cannot use: those without a value for a variable that the template needs,
 * and those whose inputs an earlier row has.
 * @param required paths of variables
 * @throws InvalidError `missing_variables` if too few rows are left because of them
 * @throws InvalidError `insufficient_data`
 */
export async function usableRows(
  given: readonly RowInput[],
  required: readonly string[],
  rest: Rest,
): Promise<UsableRows> {
  const faults: Fault[] = [];
  const variables = new Set<string>();
  const complete: RowInput[] = [];
  const paths = required.map((path) => path.split('.'));
  const check = (row: RowInput, index: number) => {
    const missing = required.filter((_, at) => isMissing(descend(row.inputs, paths[at] ?? [])));
    for (const variable of missing) variables.add(variable);
    if (faults.length < faultsMax) faults.push(...missing.map((variable) => faultOf(variable, index)));
    if (missing.length === 0) complete.push(row);
  };
  await mapInSlices(given, check, rest);
  const incomplete = given.length - complete.length;
  if (incomplete > 0 && complete.length < rowLimits.rowsMin) throw missingVariables(faults, [...variables], incomplete);
  const keyed = await mapInSlices(complete, (row): KeyedRow => ({ ...row, key: rowKeyOf(row.inputs) }), rest);
  const rows = [...new Map(keyed.toReversed().map((row) => [row.key, row])).values()].toReversed();
  const twins = keyed.length - rows.length;
  const contradicting = twins === 0 ? 0 : await contradictions(keyed, rest);
  requireEnough(rows.length, twins > 0 ? `, without ${twins} with the inputs of another` : '');
  const dropped = given.length - rows.length;
  return {
    ...{ rows, dropped },
    warnings: [
      ...(incomplete === 0
        ? []
        : [warningOf('rows_without_variables', `${incomplete} rows lack ${namesOf(variables)} and are not used.`)]),
      ...(twins === 0 ? [] : [warningOf('duplicate_rows', describeTwins(twins, contradicting))]),
    ],
  };
}

function describeTwins(twins: number, contradicting: number): string {
  const others =
    contradicting === 0 ? '' : ` ${contradicting} of them expect another output than the row that is used.`;
  return `${twins} rows have the inputs of an earlier row and are not used.${others}`;
}

/** Counts the rows that expect another output than the first row with their inputs. */
async function contradictions(rows: readonly KeyedRow[], rest: Rest): Promise<number> {
  const expected = new Map<string, string>();
  const contradicts = (row: KeyedRow) => {
    const own = fingerprintOf(row.expected ?? null);
    const first = expected.get(row.key) ?? own;
    expected.set(row.key, first);
    return own !== first;
  };
  return (await mapInSlices(rows, contradicts, rest)).filter(Boolean).length;
}

/**
 * Refuses a prompt with more required variables than a row can have values.
 * @throws TemplateLimitError
 */
export function requireFewVariables(required: readonly string[]): void {
  const { requiredVariablesMax: max } = optimizeLimits;
  if (required.length <= max) return;
  const message = `A run takes a prompt with at most ${max} required variables; this one has ${required.length}`;
  throw new TemplateLimitError(message, 'variables');
}

/**
 * Leaves out rows that no metric can score.
 * @throws InvalidError `metric_needs_expected` or `insufficient_data` if too few rows are left
 */
export function scorableRows(given: readonly KeyedRow[], metrics: readonly MetricConfig[]): UsableRows {
  const { parts } = prepareMetrics(metrics);
  const rows = given.filter(({ expected, note }) => parts.some((part) => part.applies({ expected, note })));
  const dropped = given.length - rows.length;
  if (rows.length < rowLimits.rowsMin && dropped > 0) {
    const types = metrics.map(({ type }) => type).join(', ');
    const [code, needed] = needsOf(metrics).expected
      ? (['metric_needs_expected', 'an expected value'] as const)
      : (['insufficient_data', 'a note'] as const);
    throw new InvalidError(
      code,
      `${dropped} of ${given.length} rows do not have ${needed}, which ${types} needs. A run needs ${rowLimits.rowsMin} that have it`,
      { extra: { rows: rows.length, minimum: rowLimits.rowsMin } },
    );
  }
  const message = `${dropped} rows cannot be scored by any metric and are not used.`;
  return { rows, dropped, warnings: dropped === 0 ? [] : [warningOf('rows_not_scorable', message)] };
}

/** @throws InvalidError `insufficient_data` */
export function requireEnough(rows: number, without = ''): void {
  const { rowsMin } = rowLimits;
  if (rows >= rowsMin) return;
  throw new InvalidError(
    'insufficient_data',
    `A run needs at least ${rowsMin} different rows; there are ${rows}${without}`,
    {
      extra: { rows, minimum: rowsMin },
    },
  );
}

const namesOf = (variables: Iterable<string>) => [...variables].slice(0, 20).join(', ');
const warningOf = (code: string, message: string): RunWarning => ({ code, message });

function faultOf(variable: string, index: number): Fault {
  const message = `The template needs \`${variable}\`, which is absent or null`;
  return { path: `dataset.rows[${index}].inputs.${variable}`, code: 'missing_variable', message };
}

function missingVariables(faults: readonly Fault[], missing: readonly string[], incomplete: number): InvalidError {
  return new InvalidError(
    'missing_variables',
    `${incomplete} rows lack variables that the template needs: ${namesOf(missing)}`,
    { errors: faults.slice(0, faultsMax), extra: { missing } },
  );
}
