import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { identityWebhookSecrets } from '../support/identity-webhooks.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { LoopDelays } from './watch/loop-delay.ts';
import { jwtSecret } from './world.ts';

const preload = [fileURLToPath(new URL('./watch/loop-delay-preload.mjs', import.meta.url))];

/**
 * Starts a stack whose processes record the stalls of their event loops. New workspaces have the
 * plan `enterprise`, so that no limit prevents the execution of code.
 */
export async function startFuzzStack(): Promise<{ stack: Stack; delays: LoopDelays; stop: () => Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-loop-delays-'));
  const stack = await startStack({
    apiPreload: preload,
    workerPreload: preload,
    env: {
      LOOP_DELAY_DIRECTORY: directory,
      JWT_SECRET: jwtSecret,
      CLERK_WEBHOOK_SECRETS: identityWebhookSecrets.clerk.join(','),
      WORKOS_WEBHOOK_SECRETS: identityWebhookSecrets.workos.join(','),
      // Nothing listens there: events must not leave the machine.
      WEBHOOK_EGRESS_PROXY_URL: 'http://127.0.0.1:9',
      GENERIC_WEBHOOK_SECRETS: identityWebhookSecrets.generic.join(','),
    },
  });
  const stop = async () => {
    await stack.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  return { stack, delays: new LoopDelays(directory), stop };
}
