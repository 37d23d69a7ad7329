import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { FuzzRequest } from './requests/request.ts';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  tookMs: number;
}

export const answerTimeoutMs = 45_000;

/** Sends the requests of one run over connections with keep-alive. */
export class Sender {
  readonly #apiUrl: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });

  constructor(apiUrl: string) {
    this.#apiUrl = apiUrl;
  }

  /** Sends a request. Rejects with the error of Node if there is no response, and after 45 s. */
  async send(fuzzRequest: FuzzRequest): Promise<Answer> {
    try {
      return await this.#send(fuzzRequest, this.#agent);
    } catch (error) {
      // The server may have closed an idle connection when the client used it again. This is not a fault. Another idle
      // one may be closed as well, so the request gets a new connection.
      if (error instanceof Error && 'reused' in error) return this.#send(fuzzRequest, false);
      throw error;
    }
  }

  #send({ method, target, headers, body, chunked }: FuzzRequest, agent: Agent | false): Promise<Answer> {
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
        agent,
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
      // 100 Continue is ignored, because the body is sent without waiting for it.
      outgoing.on('continue', () => undefined);
      if (chunked && body !== undefined) outgoing.write(body.subarray(0, Math.ceil(body.length / 2)));
      outgoing.end(chunked ? body?.subarray(Math.ceil(body.length / 2)) : body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
