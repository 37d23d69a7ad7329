import type { MessagePort } from 'node:worker_threads';
import { transferableSymbol, valueSymbol } from 'piscina';
import { inflateBounded, type OtlpLimits } from '../../src/domains/ingestion/index.ts';
import { type PriceOverrides, PriceTable } from '../../src/domains/pricing/index.ts';
import { lowerThreadPriority } from '../../src/lib/low-priority.ts';
import type { IngestBodyPayload } from '../../src/queue/job-catalog.ts';
import { asBadBody } from './bad-body.ts';
import { priceSearchesMax } from './cost-of-span.ts';
import { type EncodedBody, encodeRows, linkRows, readRows } from './encode-body.ts';
import { promptsOver } from './prompt-port.ts';

export interface EncodeTask {
  payload: IngestBodyPayload;
  body: Uint8Array;
  overrides: PriceOverrides;
  limits: OtlpLimits;
  /** Where prompts are looked up: the main thread has them at hand. */
  prompts: MessagePort;
  /** One Int32 that is 1 from the moment that this thread works on the body. */
  started: SharedArrayBuffer;
}

/** Errors lose their class between threads, so a body that cannot become rows is a value here. */
export type EncodeOutcome = EncodedBody | { bad: string };

const priceTable = new PriceTable();

/** What a thread runs. The bytes of the rows are handed over, not copied. */
export async function encodeInThread(task: EncodeTask): Promise<EncodeOutcome> {
  lowerThreadPriority();
  Atomics.store(new Int32Array(task.started), 0, 1);
  try {
    return handedOver(await encode(task));
  } catch (error) {
    return { bad: asBadBody(error).message };
  } finally {
    task.prompts.close();
  }
}

async function encode({ payload, body, overrides, limits, prompts }: EncodeTask): Promise<EncodedBody> {
  const inflated = await inflateBounded(
    payload.coding,
    Buffer.from(body.buffer, body.byteOffset, body.length),
    limits.inflatedBytesMax,
  );
  const prices = { table: priceTable, overrides, budget: { left: priceSearchesMax } };
  const unlinked = await readRows({ payload, limits, prices }, inflated);
  return encodeRows(await linkRows(promptsOver(prompts), payload.projectId, unlinked));
}

/** Piscina posts the value and moves what is named as transferable. */
function handedOver(encoded: EncodedBody): EncodedBody {
  const { buffer } = encoded.rows.bytes;
  return Object.assign({ [valueSymbol]: encoded, [transferableSymbol]: [buffer] }, encoded);
}
