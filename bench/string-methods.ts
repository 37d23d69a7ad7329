/**
 * Prints the nanoseconds of one `charCodeAt` before ioredis is loaded, after it is loaded, and after
 * the first connection of `src/stores/redis/client.ts`: `npx tsx bench/string-methods.ts`.
 */
const text = 'The quick brown fox jumps over the lazy dog. '.repeat(1_000);
const rounds = 200;

function sumOfCodes(): number {
  let sum = 0;
  for (let index = 0; index < text.length; index++) sum += text.charCodeAt(index);
  return sum;
}

function print(when: string): void {
  for (let round = 0; round < rounds; round++) sumOfCodes();
  const startedAtMs = performance.now();
  for (let round = 0; round < rounds; round++) sumOfCodes();
  const ns = ((performance.now() - startedAtMs) * 1e6) / (rounds * text.length);
  console.log(`${when.padEnd(24)} ${ns.toFixed(2)} ns`);
}

print('without ioredis');
const { connectWorkerRedis } = await import('../src/stores/redis/client.ts');
print('with ioredis');
const redis = connectWorkerRedis('redis://127.0.0.1:1');
redis.on('error', () => undefined);
redis.disconnect();
print('with a connection');
