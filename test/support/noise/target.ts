/** The data of an attack: a project of its own workspace, and the address of the API. */
export interface Target {
  apiUrl: string;
  projectId: string;
  apiKey: string;
}

/**
 * Sends one request with the key of the target. Resolves to the status after the response was read,
 * or 0 without a response.
 */
export async function call(target: Target, method: string, path: string, more: CallOptions = {}): Promise<number> {
  const { body, headers, signal } = more;
  try {
    const response = await fetch(target.apiUrl + path, {
      method,
      headers: { 'X-API-Key': target.apiKey, 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
      ...(signal && { signal }),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

export interface CallOptions {
  body?: string | Uint8Array;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** Returns a path below the project of the target. */
export function projectPath({ projectId }: Target, rest: string): string {
  return `/api/projects/${projectId}${rest}`;
}

/** Runs `count` loops of `work` at the same time until the signal is aborted. */
export async function inParallel(count: number, signal: AbortSignal, work: (index: number) => Promise<unknown>) {
  const loop = async (index: number) => {
    for (let turn = 0; !signal.aborted; turn++) await work(index + turn * count);
  };
  await Promise.all(Array.from({ length: count }, (_, index) => loop(index)));
}
