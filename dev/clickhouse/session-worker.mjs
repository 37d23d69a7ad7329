import { parentPort, workerData } from 'node:worker_threads';
import { Session } from 'chdb';

/**
 * A session thread; its messages are those of protocol.ts. JavaScript, because Node 20 gives threads no TypeScript
 * loader. It lives as long as the process (chDB closes every connection when a thread ends), runs one statement at a
 * time, and opens a connection for each, which takes 0.1 ms and leaves no setting behind.
 * Starting a stream blocks in chDB until the query is planned, sub-queries included: hence the thread. The prelude runs on this thread
 * as well: handing a SET to another one takes twice as long as the SET.
 */
const CHUNKS_AHEAD = 2;

let credit = createCredit();

parentPort.on('message', (message) => {
  if (message.type === 'next') return credit.add();
  if (message.type === 'stop') return credit.close();
  credit = createCredit();
  run(message.job, credit).then(
    (done) => parentPort.postMessage({ type: 'done', ...done }),
    (error) => parentPort.postMessage({ type: 'error', message: String(error?.message ?? error) }),
  );
});
parentPort.postMessage({ type: 'ready' });

/** @param {import('./protocol.ts').Job} job */
async function run(job, credits) {
  const session = new Session(workerData.enginePath);
  try {
    for (const statement of job.prelude) session.query(statement);
    const stream = startStream(session, job);
    return stream === undefined ? await runWhole(session, job) : await pump(stream, credits);
  } finally {
    session.close();
  }
}

/** A stream for whatever chDB can stream (selects); undefined for statements that have to run in one call. */
function startStream(session, job) {
  if (!job.streamable) return undefined;
  try {
    return session.queryStream(job.query, { format: job.format });
  } catch (error) {
    if (error.message.includes('Streaming query is not supported for query')) return undefined;
    throw error;
  }
}

async function runWhole(session, job) {
  const result = await session.queryAsync(job.query, { format: job.format });
  return { outcome: { rowsRead: result.rowsRead, bytesRead: result.bytesRead }, bytes: result.bytes() };
}

/** The last chunk, mostly the only one, goes out with the outcome: each message wakes a thread. */
async function pump(stream, credits) {
  const outcome = { rowsRead: 0, bytesRead: 0 };
  let last;
  for await (const chunk of stream) {
    outcome.rowsRead += chunk.numRows;
    outcome.bytesRead += chunk.numBytes;
    if (last !== undefined) {
      if (!(await credits.take())) break;
      parentPort.postMessage({ type: 'chunk', bytes: last });
    }
    last = chunk.raw();
  }
  return { outcome, bytes: last ?? new Uint8Array(0) };
}

/** Lets the reader's pace set the engine's: a chunk goes out only against a credit. */
function createCredit() {
  let left = CHUNKS_AHEAD;
  let closed = false;
  let wake = () => {};
  return {
    add() {
      left += 1;
      wake();
    },
    close() {
      closed = true;
      wake();
    },
    /** Waits for a credit; false when nobody reads any more. */
    async take() {
      while (left === 0 && !closed) {
        await new Promise((resolve) => {
          wake = resolve;
        });
      }
      left -= 1;
      return !closed;
    },
  };
}
