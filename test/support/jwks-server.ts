import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SigningKey {
  kid: string;
  alg: 'RS256' | 'ES256';
  privateKey: KeyObject;
  jwk: object;
}

/** Creates a key pair with its published public key. */
export function newSigningKey(kid: string, alg: SigningKey['alg'] = 'ES256', rsaBits = 2048): SigningKey {
  const { privateKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: rsaBits });
  return {
    kid,
    alg,
    privateKey,
    jwk: { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid, alg, use: 'sig' },
  };
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs a token with node:crypto only, so that it can have any fault. */
export function signToken(
  header: Readonly<Record<string, unknown>>,
  payload: unknown,
  key: KeyObject | string | undefined,
): string {
  const content = `${encode(header)}.${encode(payload)}`;
  return `${content}.${signature(content, key).toString('base64url')}`;
}

/** Signs a token with one of the published keys. */
export function signWith(key: SigningKey, payload: unknown, header: Readonly<Record<string, unknown>> = {}): string {
  return signToken({ typ: 'JWT', alg: key.alg, kid: key.kid, ...header }, payload, key.privateKey);
}

function signature(content: string, key: KeyObject | string | undefined): Buffer {
  if (key === undefined) return Buffer.alloc(0);
  if (typeof key === 'string') return createHmac('sha256', key).update(content).digest();
  return sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' });
}

export interface JwksServer {
  url: string;
  /** Number of requests for the keys. */
  fetches: number;
  keys: SigningKey[];
  /** Sets a response other than the keys. */
  answer: ((response: ServerResponse) => void) | undefined;
  close(): Promise<void>;
}

/** Starts the key endpoint of an identity provider on loopback. A test can make it fail. */
export async function startJwksServer(...keys: SigningKey[]): Promise<JwksServer> {
  const server = createServer((_request, response) => {
    state.fetches++;
    if (state.answer !== undefined) state.answer(response);
    else
      response
        .setHeader('Content-Type', 'application/json')
        .end(JSON.stringify({ keys: state.keys.map(({ jwk }) => jwk) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const state: JwksServer = {
    url: `http://127.0.0.1:${port}/jwks.json`,
    fetches: 0,
    keys,
    answer: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return state;
}
