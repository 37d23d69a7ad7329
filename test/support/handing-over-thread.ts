import { type EncodedInThread, handedOver } from '../../src/domains/ingestion/store/encode-thread.ts';

let given: EncodedInThread | undefined;

/** Transfers rows of a number of bytes, and one chunk of light spans. */
export function give(bytes: number): EncodedInThread {
  const rows = { rowCount: 1, bytes: Buffer.alloc(bytes, 'x'), ends: Uint32Array.of(bytes) };
  given = { rows, spanCount: 1, traces: [], lightChunks: [new Uint8Array(1_000)] };
  return handedOver(given);
}

/** Returns how many bytes of the transferred rows and light spans this thread still has. */
export function left(): number[] {
  return [given?.rows.bytes.buffer.byteLength ?? -1, given?.lightChunks[0]?.buffer.byteLength ?? -1];
}
