import { seededDraws, shuffled } from '../statistics/seeded-draws.ts';
import type { Row, SearchConfig } from './ports.ts';

/** The validation rows that a search uses cost their number for each candidate, so they follow the budget. */
const callsPerValRow = 20;
const valRows = { min: 8, max: 60 } as const;

/** Returns how many validation rows a search uses at most. */
export function valSizeOf({
  budget: { maxCalls },
  search: { valSize },
}: Pick<SearchConfig, 'budget' | 'search'>): number {
  if (valSize !== null) return valSize;
  const affordable = Math.round((maxCalls ?? Number.POSITIVE_INFINITY) / callsPerValRow);
  return Math.min(valRows.max, Math.max(valRows.min, affordable));
}

export interface SearchRows {
  /** The only rows that a reflection model sees. */
  train: readonly Row[];
  /** In random order, because a race looks at the first rows first. */
  val: readonly Row[];
  holdout: readonly Row[];
}

/** Returns the rows of a search by their split. Validation rows beyond the size are not used. */
export function chooseRows(rows: readonly Row[], config: Pick<SearchConfig, 'budget' | 'search' | 'seed'>): SearchRows {
  const of = (split: Row['split']) => rows.filter((row) => row.split === split);
  const val = shuffled(seededDraws(config.seed, 'val'), of('val')).slice(0, valSizeOf(config));
  return { train: of('train'), val, holdout: of('holdout') };
}
