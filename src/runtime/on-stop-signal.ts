/**
 * Calls `stop` at the first SIGTERM or SIGINT, and ends the process with code 0 after it. Call it before the first
 * `await` of a program: without a listener, the first process of a container ignores these signals, and any other one
 * ends in the middle of its work.
 */
export function onStopSignal(stop: (signal: NodeJS.Signals) => Promise<void>): void {
  let isStopping = false;
  const listener = (signal: NodeJS.Signals) => {
    if (isStopping) return;
    isStopping = true;
    void stop(signal).then(() => process.exit(0));
  };
  process.on('SIGTERM', listener);
  process.on('SIGINT', listener);
}
