import { setTimeout as delay } from 'node:timers/promises';
import type { Body } from './bodies.ts';
import { epochMs } from './epoch.ts';
import type { PostBody } from './post.ts';
import { SendLog, type SendResult } from './send-result.ts';

const resendAfterMs = 1_000;

/**
 * Each connection sends its next body after the last one was acknowledged, until the time ends or
 * no body is left. A body with another response is sent again after its Retry-After, for the same
 * time again.
 */
export async function runClosedLoop(
  post: PostBody,
  bodies: readonly Body[],
  { connections, seconds }: { connections: number; seconds: number },
): Promise<SendResult> {
  const log = new SendLog();
  const untilMs = epochMs() + seconds * 1_000;
  const giveUpMs = untilMs + 60_000;
  let next = 0;
  const connection = async () => {
    while (epochMs() < untilMs) {
      const body = bodies[next++];
      if (body === undefined) return;
      log.startBody();
      while (!(await sendOnce(post, body, log)) && epochMs() < giveUpMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  return log.result();
}

async function sendOnce(post: PostBody, body: Body, log: SendLog): Promise<boolean> {
  const sentAtMs = epochMs();
  const answer = await post(body.bytes);
  log.record(body, answer, epochMs() - sentAtMs);
  if (answer.status === '200') return true;
  await delay(answer.retryAfterMs || resendAfterMs);
  return false;
}
