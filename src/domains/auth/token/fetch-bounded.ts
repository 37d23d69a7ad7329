const bytesMax = 256 * 1024;

/** `fetch` for key sets: an answer over 256 KiB is an error. Redirects come back as they are, for the caller to refuse. */
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
    // Leaving the loop cancels the rest.
    if (length > bytesMax) throw new Error(`The key set is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), { status: 200 });
}
