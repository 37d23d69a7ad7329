/**
 * Aborts at the first Ctrl-C, SIGTERM or SIGHUP. Later signals have no effect, because npm passes
 * on a signal of the terminal a second time, and users press Ctrl-C twice.
 */
export function stopRequest(): AbortSignal {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) return;
    controller.abort();
    console.log('\n… stopping');
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  // The terminal may be closed. An error of the output must not prevent an orderly stop.
  process.stdout.on('error', stop);
  process.stderr.on('error', stop);
  return controller.signal;
}
