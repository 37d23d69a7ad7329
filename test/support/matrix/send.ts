import type { TestApi } from '../api.ts';
import { newTraceId } from '../spans.ts';
import type { Answer, Attempt } from './attempt.ts';
import { sentBy } from './bodies.ts';
import { pathWith } from './paths.ts';
import type { Tenants } from './tenants.ts';

/** Traces of requests that must be refused, which must never be stored, and traces of allowed requests. */
export const traces = { refused: newTraceId(), admitted: newTraceId() };

export async function send(api: TestApi, tenants: Tenants, { row, credential, refusal }: Attempt): Promise<Answer> {
  const { contract, ids } = row;
  const traceId = refusal === undefined ? traces.admitted : traces.refused;
  const { query, contentType, body } = sentBy(contract, { traceId, exported: tenants.exported });
  const response = await fetch(api.url + pathWith(contract.path, ids) + query, {
    method: contract.method,
    headers: {
      ...credential.headers,
      ...(contentType !== undefined && { 'Content-Type': contentType }),
      'X-Request-Id': 'same',
    },
    body: body ?? null,
  });
  let text = [...response.headers.keys()].join() + (await response.text());
  for (const id of Object.values(ids)) {
    for (const form of [id, encodeURIComponent(id)]) text = text.replaceAll(wholeWord(form), '');
  }
  return { status: response.status, text };
}

/** Matches the text only as a whole word, because the version 1 is also a digit of other values. */
function wholeWord(text: string): RegExp {
  return new RegExp(`(?<!\\w)${text.replaceAll(/[^\w]/g, '\\$&')}(?!\\w)`, 'g');
}
