import { hash } from 'node:crypto';
import { fingerprintOf } from '../../../lib/cursor.ts';
import type { FeedbackKind } from '../../feedback/index.ts';
import { optimizeLimits } from '../optimize.schema.ts';
import type { RunWarning } from '../run.ts';
import type { RatedCall } from './read-rated-calls.ts';
import {
  type DropReason,
  dropReasons,
  type ExecutionRow,
  type PromptNames,
  promptNames,
  rowOfCall,
} from './row-of-call.ts';

/** UTF-16 units of all rows together, as JSON. */
const rowsCharsMax = 16 * 1024 * 1024;

/** The rows of calls, which come newest first. Of several with the same inputs, it keeps the first. */
export class RowCollection {
  readonly rows: ExecutionRow[] = [];
  readonly dropped: Partial<Record<DropReason, number>> = {};
  readonly #variables: PromptNames;
  readonly #wanted: { feedback: FeedbackKind; limit: number };
  readonly #keys = new Set<string>();
  #charsLeft = rowsCharsMax;

  constructor(variables: ReadonlyMap<string, boolean>, wanted: { feedback: FeedbackKind; limit: number }) {
    this.#variables = promptNames(variables);
    this.#wanted = wanted;
  }

  /** Whether it takes no more rows. */
  get isFull(): boolean {
    return this.rows.length >= this.#wanted.limit || this.#charsLeft <= 0;
  }

  /** Adds the row of a call, or counts why it has none. */
  add(call: RatedCall): void {
    if (this.isFull) return;
    const row = rowOfCall(call, this.#variables, this.#wanted.feedback);
    if (row === undefined) return;
    const reason = typeof row === 'string' ? row : this.#reasonAgainst(row);
    if (reason !== undefined) this.dropped[reason] = (this.dropped[reason] ?? 0) + 1;
    else this.rows.push(row as ExecutionRow);
  }

  /** What a user should know of the rows. */
  warnings(): RunWarning[] {
    const weak = this.rows.filter(({ weakLabel }) => weakLabel).length;
    const unknown = this.rows.filter(({ expected }) => expected === undefined).length;
    const all = this.rows.length;
    const dropped = Object.entries(this.dropped) as [DropReason, number][];
    return [
      ...dropped.map(([reason, count]) => ({
        code: `executions_${reason}`,
        message: `${count} executions with feedback give no row: they ${dropReasons[reason]}`,
      })),
      ...(weak > 0 ? [{ code: 'weak_labels', message: `${weak} of ${all} rows expect ${weakLabels}` }] : []),
      ...(unknown > 0 ? [{ code: 'rows_without_expected', message: `${unknown} of ${all} rows ${noExpected}` }] : []),
      ...(this.#charsLeft <= 0 ? [{ code: 'rows_truncated', message: tooLarge }] : []),
    ];
  }

  #reasonAgainst(row: ExecutionRow): DropReason | undefined {
    const chars = JSON.stringify(row).length;
    if (chars > optimizeLimits.rowCharsMax) return 'too_large';
    const key = hash('sha256', fingerprintOf(row.inputs));
    if (this.#keys.has(key)) return 'duplicate';
    this.#keys.add(key);
    this.#charsLeft -= chars;
    return undefined;
  }
}

const weakLabels = 'a recorded output that a user rated well. It may not be the best output';
const noExpected = 'have no expected output. Only metrics that need none, such as llm_judge, score them';
const tooLarge = `The newest rows have ${rowsCharsMax} characters together. Older rows are left out`;
