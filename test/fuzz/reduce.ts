import type { FuzzRequest } from './requests/request.ts';

const triesMax = 40;

/**
 * Returns the request without the parts that are not necessary for its failure. Removes parameters
 * of its query and lines or members of its body, one at a time.
 */
export async function reduced(
  request: FuzzRequest,
  stillFails: (smaller: FuzzRequest) => Promise<boolean>,
): Promise<FuzzRequest> {
  let smallest = request;
  let tries = 0;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const candidate of smallerOf(smallest)) {
      if (tries++ >= triesMax) return smallest;
      if (!(await stillFails(candidate))) continue;
      smallest = candidate;
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

function smallerOf(request: FuzzRequest): FuzzRequest[] {
  return [...withLessQuery(request), ...withLessBody(request)];
}

function withLessQuery(request: FuzzRequest): FuzzRequest[] {
  const [path = '', query] = request.target.split('?', 2);
  if (query === undefined) return [];
  const pairs = query.split('&');
  return pairs.map((_, at) => {
    const left = pairs.filter((_, index) => index !== at).join('&');
    return { ...request, target: left === '' ? path : `${path}?${left}` };
  });
}

function withLessBody(request: FuzzRequest): FuzzRequest[] {
  if (request.body === undefined || request.headers['Content-Encoding'] !== undefined) return [];
  const text = request.body.toString();
  const lines = text.split('\n');
  if (lines.length > 1)
    return lines.map((_, at) => ({ ...request, body: Buffer.from(lines.toSpliced(at, 1).join('\n')) }));
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.keys(value).map((dropped) => {
    const left = Object.fromEntries(Object.entries(value).filter(([name]) => name !== dropped));
    return { ...request, body: Buffer.from(JSON.stringify(left)) };
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
