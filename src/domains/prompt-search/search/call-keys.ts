import { hash } from 'node:crypto';
import type { ModelConfig } from './ports.ts';

/** What a call for a row is made for. `slot` tells apart several judges, and a second attempt. */
export interface RowCall {
  candidateHash: string;
  rowKey: string;
  sampleIx: number;
  slot: string;
}

/** Returns the key of a call for a row: equal in a replay, and unique in a run. */
export function rowCallKey(kind: 'task' | 'judge', { model, params }: ModelConfig, call: RowCall): string {
  const { candidateHash, rowKey, sampleIx, slot } = call;
  return hash('sha256', JSON.stringify([kind, model, params, candidateHash, rowKey, sampleIx, slot]));
}

/** Returns the key of a call that proposes a candidate. */
export function reflectCallKey(iteration: number, slot: number): string {
  return hash('sha256', `reflect|${iteration}|${slot}`);
}
