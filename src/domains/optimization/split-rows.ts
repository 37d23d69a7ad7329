import { hash } from 'node:crypto';
import { fingerprintOf } from '../../lib/cursor.ts';
import type { Row, Split } from '../prompt-search/index.ts';

/** A row as it was given or found. `split` puts it where the caller wants it. */
export interface RowInput {
  inputs: Row['inputs'];
  expected?: unknown;
  split?: Split | undefined;
  weight?: number | undefined;
  note?: string | undefined;
}

/** A row with the hash of its inputs. Rows with equal inputs have equal keys. */
export type KeyedRow = RowInput & { key: string };

export interface SplitSizes {
  /** The share of the rows that becomes the holdout. */
  holdoutFraction: number;
  /** The most rows of the holdout that the limits of the run can pay for. */
  holdoutMax: number;
  /** Validation rows that the search can use, as `validationRowsFor` returns them. */
  valMax: number;
}

export interface SplitRows {
  rows: Row[];
  /** Rows that belong to the holdout by their hash, and that it has no room for. No run searches with them. */
  unused: number;
}

/**
 * With fewer rows there is no run, and with fewer than the second number no holdout. A holdout of fewer
 * than `decidingRows` proves nothing.
 */
export const rowLimits = {
  rowsMin: 6,
  holdoutFromRows: 20,
  holdoutMin: 8,
  holdoutMax: 100,
  decidingRows: 20,
} as const;

const valShare = 0.3;
/** Shares of the rows between which the holdout is kept when hashes are uneven. */
const holdoutShares = { least: 2 / 3, most: 4 / 3 };
/** More labels than this are no classes. */
const labelsMax = 20;
const rowsOfLabelMin = 4;

/** Returns the SHA-256 of inputs in hex. The order of their fields does not matter. */
export function rowKeyOf(inputs: Row['inputs']): string {
  return hash('sha256', fingerprintOf(inputs));
}

/** A row with its number from 0 to 1, a hash of what it is stratified by, and the bytes of its values as JSON. */
export interface Place {
  row: KeyedRow;
  at: number;
  label: string;
  bytes: { inputs: number; expected: number };
}

/**
 * Returns the place of a row, for all divisions of the rows. Values that are expected can be large.
 * @param salt the id of the prompt
 */
export function placeOf(row: KeyedRow, salt: string): Place {
  const at = Number.parseInt(hash('sha256', `${salt} ${row.key}`).slice(0, 12), 16) / 16 ** 12;
  const expected = JSON.stringify(row.expected ?? null);
  const bytes = { inputs: Buffer.byteLength(JSON.stringify(row.inputs)), expected: Buffer.byteLength(expected) };
  return { row, at, label: hash('sha256', expected), bytes };
}

/**
 * Distributes rows with different keys. A row belongs to the holdout by the hash of its inputs and of the prompt, so it
 * belongs there in every run of a prompt, whatever other rows there are. Only where this gives too few rows, others
 * join them, which may be training rows of a run with other rows. A split that a row names is kept, and no other rows join a holdout or validation rows that are named.
 */
export function splitRows(places: readonly Place[], sizes: SplitSizes): SplitRows {
  const { splits, unused } = chooseSplits(places, sizes);
  return {
    rows: places.flatMap(({ row }) => {
      const split = splits.get(row.key);
      return split === undefined ? [] : [toRow(row, split)];
    }),
    unused,
  };
}

/** Returns the splits that {@link splitRows} gives to rows, by their keys, without the rows. */
export function chooseSplits(
  places: readonly Place[],
  sizes: SplitSizes,
): { splits: ReadonlyMap<string, Split>; unused: number } {
  const named = places.filter(({ row }) => row.split !== undefined);
  const names = (split: Split) => named.some(({ row }) => row.split === split);
  const free = places.filter(({ row }) => row.split === undefined);
  const { holdout, unused } = names('holdout') ? noHoldout : chooseHoldout(free, places.length, sizes);
  const taken = new Set([...holdout, ...unused]);
  const rest = free.filter((each) => !taken.has(each));
  const val = names('val') ? [] : takeEvenly(rest, valCount(places.length, rest.length, sizes));
  const splits = new Map<string, Split>([
    ...rest.map(({ row }): [string, Split] => [row.key, 'train']),
    ...val.map(({ row }): [string, Split] => [row.key, 'val']),
    ...holdout.map(({ row }): [string, Split] => [row.key, 'holdout']),
    ...named.map(({ row }): [string, Split] => [row.key, row.split ?? 'train']),
  ]);
  return { splits, unused: unused.length };
}

interface Holdout {
  holdout: readonly Place[];
  unused: readonly Place[];
}

const noHoldout: Holdout = { holdout: [], unused: [] };

function chooseHoldout(
  free: readonly Place[],
  all: number,
  { holdoutFraction, holdoutMax }: Pick<SplitSizes, 'holdoutFraction' | 'holdoutMax'>,
): Holdout {
  if (all < rowLimits.holdoutFromRows || holdoutFraction === 0) return noHoldout;
  const inOrder = free.toSorted((a, b) => a.at - b.at);
  const byHash = inOrder.filter(({ at }) => at < holdoutFraction);
  const target = holdoutFraction * all;
  const most = Math.min(holdoutMax, rowLimits.holdoutMax, Math.ceil(target * holdoutShares.most) + 2);
  const enough = target < rowLimits.decidingRows ? rowLimits.holdoutMin : rowLimits.decidingRows;
  const least = Math.min(most, Math.max(enough, Math.floor(target * holdoutShares.least)));
  const chosen = new Set(byHash.slice(0, most));
  for (const place of rarest(inOrder)) if (chosen.size < most) chosen.add(place);
  for (const place of inOrder) if (chosen.size < least) chosen.add(place);
  return { holdout: [...chosen], unused: byHash.filter((each) => !chosen.has(each)) };
}

/** Returns the first row of each label, so that a label with few rows is in the holdout too. */
function rarest(inOrder: readonly Place[]): Place[] {
  const byLabel = groupByLabel(inOrder);
  if (byLabel.size > labelsMax) return [];
  return [...byLabel.values()].flatMap((places) => (places.length < rowsOfLabelMin ? [] : places.slice(0, 1)));
}

function valCount(all: number, rest: number, { valMax }: SplitSizes): number {
  const share = all < rowLimits.holdoutFromRows ? 1 / 2 : valShare;
  return Math.min(valMax, Math.round(share * all), Math.floor(rest / 2));
}

/** Takes rows so that each label has its share, by the hash of the rows within a label. */
function takeEvenly(places: readonly Place[], count: number): Place[] {
  const byLabel = groupByLabel(places.toSorted((a, b) => a.at - b.at));
  const groups = byLabel.size > labelsMax ? [[...places].sort((a, b) => a.at - b.at)] : [...byLabel.values()];
  return groups
    .flatMap((group) => group.map((place, index) => ({ place, turn: (index + 0.5) / group.length })))
    .toSorted((a, b) => a.turn - b.turn || a.place.at - b.place.at)
    .slice(0, count)
    .map(({ place }) => place);
}

function groupByLabel(places: readonly Place[]): Map<string, Place[]> {
  const groups = new Map<string, Place[]>();
  for (const place of places) {
    const group = groups.get(place.label);
    if (group === undefined) groups.set(place.label, [place]);
    else group.push(place);
  }
  return groups;
}

function toRow({ key, inputs, expected, weight, note }: KeyedRow, split: Split): Row {
  return {
    ...{ key, split, inputs, weight: weight ?? 1 },
    ...(expected === undefined ? {} : { expected }),
    ...(note === undefined ? {} : { note }),
  };
}
