import { parentPort, workerData } from 'node:worker_threads';
import { Session } from 'chdb';

/**
 * A session thread. protocol.ts defines its messages. The file is JavaScript, because threads of
 * Node 20 have no TypeScript loader. The thread lives as long as the process, because chDB closes
 * every connection when a thread ends. It runs one statement at a time. Each statement has a new
 * connection, which takes 0.1 ms, so that no setting remains. Starting a stream blocks the thread
 * until chDB has planned the query and its sub-queries. The prelude runs on this thread too,
 * because passing a SET to another thread takes twice as long as the SET.
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

/** Returns a stream for selects, which chDB can stream. Returns undefined for statements that must run in one call. */
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

/** Sends the last chunk, usually the only one, with the outcome, because each message wakes a thread. */
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

/** Sends a chunk only for a credit, so that the engine is not faster than the reader. */
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
    /** Waits for a credit. Returns false if the client has disconnected. */
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
