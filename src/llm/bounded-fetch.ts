import { costsMoreThan } from '../lib/json-cost.ts';
import { notConnectedOf } from './not-connected.ts';

/** A response is longer than its bound, or has more values. */
export class ReplyTooLarge extends Error {}

/** To parse and check JSON of this cost takes about 10 ms. */
const jsonCostMax = 100_000;

const bodiless = new Set([204, 205, 304]);

/**
 * Returns a `fetch` that reads the whole response, up to a bound of bytes and JSON values, before it returns it, so that the
 * timeout of the client includes the body. It follows no redirect: a redirect could send the key to
 * another host. Its promise rejects with ReplyTooLarge above a bound, and with NotConnected if nothing was sent.
 */
export function boundedFetch(bytesMax: number) {
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, { ...init, redirect: 'manual' }).catch((error: unknown) => {
      throw notConnectedOf(error) ?? error;
    });
    const body = await readBody(response, bytesMax);
    const { status, statusText, headers } = response;
    return new Response(bodiless.has(status) ? null : body, { status, statusText, headers });
  };
}

async function readBody(response: Response, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new ReplyTooLarge(`The response has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  const body = new Uint8Array(Buffer.concat(chunks));
  if (!costsMoreThan(body, jsonCostMax)) return body;
  // The status of an error says enough.
  if (!response.ok) return new Uint8Array();
  throw new ReplyTooLarge('The response has too many JSON values');
}
