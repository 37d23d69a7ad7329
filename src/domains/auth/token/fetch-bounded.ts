const bytesMax = 256 * 1024;

/**
 * Fetches a key set. Returns redirects unchanged, so that the caller can refuse them.
 * @throws Error when the answer is larger than 256 KiB
 */
export async function fetchBounded(
  url: string,
  options: { headers: Headers; method: 'GET'; redirect: 'manual'; signal: AbortSignal },
): Promise<Response> {
  const response = await fetch(url, options);
  if (response.status !== 200) {
    await response.body?.cancel();
    return response;
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    // The exception leaves the loop, which cancels the rest of the download.
    if (length > bytesMax) throw new Error(`The key set is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status: 200 });
}
