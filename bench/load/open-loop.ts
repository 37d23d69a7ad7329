import { setTimeout as delay } from 'node:timers/promises';
import type { Body } from './bodies.ts';
import { epochMs } from './epoch.ts';
import type { PostBody } from './post.ts';
import { SendLog, type SendResult } from './send-result.ts';

/**
 * Sends every body once, at moments fixed in advance and whatever the answers do; latencies count from those moments, so that a
 * stall is not left out (no coordinated omission). `onSend` is told each body's moment.
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
