const PARENT_CHECK_MS = 500;

/**
 * Aborts at the first Ctrl-C, SIGTERM or SIGHUP; npm passes a terminal's signal on a second time and impatient people
 * press twice, so further ones change nothing. Also when the npm that started us dies without passing anything on.
 */
export function stopRequest(env: NodeJS.ProcessEnv): AbortSignal {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) return;
    controller.abort();
    console.log('\n… stopping');
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  // The terminal may be gone: losing what we print must not keep us from stopping in order.
  process.stdout.on('error', stop);
  process.stderr.on('error', stop);
  if (env.npm_lifecycle_event === 'up') {
    const parent = process.ppid;
    setInterval(() => process.ppid !== parent && stop(), PARENT_CHECK_MS).unref();
  }
  return controller.signal;
}
