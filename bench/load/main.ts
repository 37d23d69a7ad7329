import { type Body, createBodies } from './bodies.ts';
import { createBomb } from './bomb.ts';
import { runClosedLoop } from './closed-loop.ts';
import { epochMs } from './epoch.ts';
import { runOpenLoop } from './open-loop.ts';
import { createPoster, toLogs, toTraces } from './post.ts';
import type { CommandName, LoadCommands, LoadReply, LoadRequest, LoadTarget } from './protocol.ts';
import { ReadableProbe } from './readable-probe.ts';
import { RecordSender } from './record-sender.ts';
import { createRenderBodies } from './render-bodies.ts';
import { runReads, runRequests } from './requests.ts';

// A separate process, so that the cost of the load can be distinguished from the cost of the service.
process.on('SIGINT', () => undefined); // The parent handles Ctrl-C. This process ends when its parent ends.
process.on('disconnect', () => process.exit());

const target: LoadTarget = JSON.parse(process.argv[2] ?? '');
let bodies: Body[] = [];
let to = toTraces;
let bomb: Buffer = Buffer.alloc(0);

const commands: {
  [Name in CommandName]: (input: LoadCommands[Name]['input']) => Promise<LoadCommands[Name]['output']>;
} = {
  async prepare(spec) {
    bodies = [];
    const created = await createBodies(spec);
    bodies = created.bodies;
    to = toTraces;
    return {
      gzipBytes: bodies.reduce((sum, { bytes }) => sum + bytes.length, 0),
      plainBytes: created.plainBytes,
    };
  },

  async prepareRenders({ count, path }) {
    bodies = createRenderBodies(count);
    to = { path, headers: { 'content-type': 'application/json' } };
    return { bodyBytes: bodies[0]?.bytes.length ?? 0 };
  },

  async closedLoop(input) {
    const { post, close } = createPoster(target, input.connections, to);
    const result = await runClosedLoop(post, bodies, input);
    close();
    return result;
  },

  async openLoop({ bodiesPerS, connectionsMax, sampleEveryTraces, pollEveryMs, recordsPerBody = 0 }) {
    const { post, close } = createPoster(target, connectionsMax, to);
    const probe = new ReadableProbe(target, pollEveryMs ?? 0);
    const records = new RecordSender(createPoster(target, connectionsMax, toLogs), bodies, {
      recordsPerBody,
      bodiesPerS,
    });
    let traces = 0;
    const result = await runOpenLoop(post, bodies, bodiesPerS, (body, index, intendedAtMs) => {
      const completeAtMs = records.follow(index, intendedAtMs);
      for (let at = 0; at < body.traceIds.length; at += 16, traces++) {
        if (sampleEveryTraces === undefined || traces % sampleEveryTraces !== 0) continue;
        probe.watch(body.traceIds.toString('hex', at, at + 16), completeAtMs, records.ofTrace(body, at / 16));
      }
    });
    close();
    await records.close();
    return { ...result, ...(await probe.result()) };
  },

  requests: (input) => runRequests(target.url, input),
  reads: (input) => runReads(target.url, input),

  async prepareBomb({ inflatedBytes }) {
    bomb = await createBomb(inflatedBytes);
    return { gzipBytes: bomb.length };
  },

  async sendBomb() {
    const { post, close } = createPoster(target, 1);
    const sentAtMs = epochMs();
    const { status } = await post(bomb);
    close();
    return { status, ms: epochMs() - sentAtMs };
  },
};

process.on('message', async ({ name, input }: LoadRequest) => {
  process.send?.(await run(name, input));
});

async function run<Name extends CommandName>(name: Name, input: LoadCommands[Name]['input']): Promise<LoadReply> {
  try {
    return { output: await commands[name](input) };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
