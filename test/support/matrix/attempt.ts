import type { Contract } from '../../../src/http/endpoint.ts';
import type { Credential } from './credentials.ts';
import type { Refusal } from './expectation.ts';
import type { KindOfId } from './paths.ts';

/** A contract with ids for its path: all ids of the caller, or `parameter` replaced. */
export interface Row {
  contract: Contract;
  parameter: string | undefined;
  kind: KindOfId;
  ids: Readonly<Record<string, string>>;
}

/** A row with one credential, and its expected refusal, if any. */
export interface Attempt {
  row: Row;
  credential: Credential;
  refusal: Refusal;
}

export interface Answer {
  status: number;
  /** The response without values of the request, so that two responses can be compared. */
  text: string;
}

/** By row and credential. */
export type Answers = Map<string, Answer>;

export function keyOf({ row, credential }: Pick<Attempt, 'row' | 'credential'>): string {
  return `${row.parameter} ${row.kind} ${credential.name}`;
}

export function nameOf({ contract, parameter, kind }: Pick<Row, 'contract' | 'parameter' | 'kind'>): string {
  return parameter === undefined ? contract.operationId : `${contract.operationId} of ${kind} ${parameter}`;
}
