import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A task of `test/fixtures/optimization-sim`. */
export interface Pack {
  varName: string;
  seedTemplate: string;
  /** Rows, if the task has given ones. */
  rows?: PackRow[];
}
export interface PackRow {
  id: string;
  inputs: Record<string, string>;
  expected: string;
}
interface Reply {
  text: string;
  usage: { prompt_tokens: number; completion_tokens: number };
}
interface Engine {
  taskModel(pack: Pack, prompt: string, options: { seed: number; temperature: number; nonce: number }): Reply;
  reflectModel(pack: Pack, text: string, options: { seed: number; nonce: number; json: boolean }): Reply;
  makeRows(pack: Pack, count: number, seed: number): PackRow[];
}

const folder = join(import.meta.dirname, '../../test/fixtures/optimization-sim');
const load = (file: string) => import(pathToFileURL(join(folder, file)).href);

export const engine: Engine = await load('engine.mjs');
const { P1, P2 }: { P1: Pack; P2: Pack } = await load('packs-public.mjs');

/** The packs with the calls and the rows that are used with them. */
export const packs = {
  P1: { pack: P1, callsMax: 400, rows: (seed: number) => engine.makeRows(P1, 120, seed) },
  P2: { pack: P2, callsMax: 500, rows: () => P2.rows ?? [] },
} as const;
