import { setTimeout as delay } from 'node:timers/promises';
import type { Body } from './bodies.ts';
import { epochMs } from './epoch.ts';
import type { PostBody } from './post.ts';
import { SendLog, type SendResult } from './send-result.ts';

/**
 * Sends every body once, at fixed times that do not depend on the responses. Latencies are measured
 * from those times, so that a stall is included (no coordinated omission). `onSend` gets the time
 * of each body.
 */
export async function runOpenLoop(
  post: PostBody,
  bodies: readonly Body[],
  bodiesPerS: number,
  onSend: (body: Body, index: number, intendedAtMs: number) => void,
): Promise<SendResult> {
  const log = new SendLog();
  const startMs = epochMs();
  const answers: Promise<void>[] = [];
  for (const [index, body] of bodies.entries()) {
    const intendedAtMs = startMs + (index * 1_000) / bodiesPerS;
    while (epochMs() < intendedAtMs) await delay(Math.max(1, Math.floor(intendedAtMs - epochMs())));
    log.startBody();
    onSend(body, index, intendedAtMs);
    answers.push(post(body.bytes).then((answer) => log.record(body, answer, epochMs() - intendedAtMs)));
  }
  await Promise.all(answers);
  return log.result();
}
