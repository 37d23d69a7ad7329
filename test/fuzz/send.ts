import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { FuzzRequest } from './requests/request.ts';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  tookMs: number;
}

export const answerTimeoutMs = 45_000;

/** Sends requests of one run over connections that are kept. */
export class Sender {
  readonly #apiUrl: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });

  constructor(apiUrl: string) {
    this.#apiUrl = apiUrl;
  }

  /** Throws what Node throws when there is no answer, also after 45 s. */
  async send(fuzzRequest: FuzzRequest): Promise<Answer> {
    try {
      return await this.#send(fuzzRequest);
    } catch (error) {
      // The server may have closed a kept connection at the moment it was used again, which is nobody's fault.
      if (error instanceof Error && 'reused' in error) return this.#send(fuzzRequest);
      throw error;
    }
  }

  #send({ method, target, headers, body, chunked }: FuzzRequest): Promise<Answer> {
    const startedAtMs = performance.now();
    const length =
      chunked || (body === undefined && /^(GET|DELETE|OPTIONS)$/.test(method))
        ? {}
        : { 'Content-Length': String(body?.length ?? 0) };
    return new Promise((resolve, reject) => {
      const outgoing = request(this.#apiUrl, {
        method,
        path: target,
        headers: { ...headers, ...length },
        agent: this.#agent,
        timeout: answerTimeoutMs,
      });
      outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer within ${answerTimeoutMs} ms`)));
      outgoing.once('error', (error) => reject(outgoing.reusedSocket ? Object.assign(error, { reused: true }) : error));
      outgoing.once('response', async (response) => {
        try {
          const chunks: Buffer[] = [];
          for await (const chunk of response) chunks.push(chunk as Buffer);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
            tookMs: performance.now() - startedAtMs,
          });
        } catch (error) {
          reject(error);
        }
      });
      // Announced by the client, it would have to wait before it sends its body.
      outgoing.on('continue', () => undefined);
      if (chunked && body !== undefined) outgoing.write(body.subarray(0, Math.ceil(body.length / 2)));
      outgoing.end(chunked ? body?.subarray(Math.ceil(body.length / 2)) : body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
