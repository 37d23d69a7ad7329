import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CommandName, LoadCommands, LoadReply, LoadTarget } from './load/protocol.ts';

/** Controls the process that creates and sends the load. The bodies stay there. Only figures are returned. */
export class LoadGenerator {
  readonly #child: ChildProcess;
  readonly #ended: Promise<LoadReply>;

  constructor(target: LoadTarget) {
    this.#child = fork(fileURLToPath(new URL('./load/main.ts', import.meta.url)), [JSON.stringify(target)], {
      execArgv: ['--import', 'tsx', '--max-old-space-size=4096'],
      serialization: 'advanced',
    });
    this.#ended = once(this.#child, 'exit').then(([code]) => ({ error: `the load generator ended with ${code}` }));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Throws the error of the command, or an error if the process has ended. */
  async run<Name extends CommandName>(
    name: Name,
    input: LoadCommands[Name]['input'],
  ): Promise<LoadCommands[Name]['output']> {
    this.#child.send({ name, input });
    const reply = await Promise.race([
      once(this.#child, 'message').then(([message]) => message as LoadReply),
      this.#ended,
    ]);
    if ('error' in reply) throw new Error(`${name}: ${reply.error}`);
    return reply.output as LoadCommands[Name]['output'];
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
