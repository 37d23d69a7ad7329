/** What an attack is given: a project of its own workspace, reached as any caller reaches it. */
export interface Target {
  apiUrl: string;
  projectId: string;
  apiKey: string;
}

/** One request with the target's key; resolves with its status once the answer has been read, 0 when there was none. */
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

/** The path of something of the target's project. */
export function projectPath({ projectId }: Target, rest: string): string {
  return `/api/projects/${projectId}${rest}`;
}

/** `count` loops of `work` at once, each until the signal is aborted. */
export async function inParallel(count: number, signal: AbortSignal, work: (index: number) => Promise<unknown>) {
  const loop = async (index: number) => {
    for (let turn = 0; !signal.aborted; turn++) await work(index + turn * count);
  };
  await Promise.all(Array.from({ length: count }, (_, index) => loop(index)));
}
