import { check } from '../../http/faults.ts';
import { refuseBody } from '../../http/validate.ts';
import { type Fault, TooLargeError } from '../../lib/errors.ts';
import { mapInSlices, type Rest } from '../../lib/pace.ts';
import { optimizeLimits, rowBody } from './optimize.schema.ts';
import type { RowInput } from './split-rows.ts';

const faultsMax = 50;

/**
 * Validates the rows of a request in slices, because a thousand of them take long. Null as an expected
 * value means that it is not known.
 * @throws TooLargeError `dataset_too_large`, and the errors of `refuseBody`
 */
export async function checkRows(given: readonly unknown[], rest: Rest): Promise<RowInput[]> {
  const { rowsMax } = optimizeLimits;
  if (given.length > rowsMax) {
    throw new TooLargeError('dataset_too_large', `A run takes at most ${rowsMax} rows; given ${given.length}`, {
      extra: { limit: rowsMax, rows: given.length },
    });
  }
  const rows: RowInput[] = [];
  const faults: Fault[] = [];
  const checkRow = (row: unknown, index: number) => {
    if (faults.length >= faultsMax) return;
    const result = check(rowBody, row);
    if (!result.ok) faults.push(...result.faults.map((fault) => ({ ...fault, path: pathBelow(index, fault.path) })));
    else rows.push({ ...result.value, expected: result.value.expected ?? undefined });
  };
  await mapInSlices(given, checkRow, rest);
  if (faults.length > 0) refuseBody(faults.slice(0, faultsMax));
  return rows;
}

function pathBelow(index: number, path: string): string {
  const separator = path === '' || path.startsWith('[') ? '' : '.';
  return `dataset.rows[${index}]${separator}${path}`;
}
