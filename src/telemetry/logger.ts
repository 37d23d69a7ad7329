import { type DestinationStream, type Logger, pino } from 'pino';
import { safeMessage, scrubText, serializeError } from './safe-error.ts';

export type { Logger } from 'pino';

/**
 * Lines are written some at a time and beside the event loop, of which a write(2) for each request took a tenth under load. A process that
 * ends writes what is left; one that is killed loses a tenth of a second of lines. While nobody reads them, they wait up to `maxLength`.
 */
const stdout = { dest: 1, sync: false, minLength: 4_096, periodicFlush: 100, maxLength: 16 * 1024 * 1024 };

/**
 * A JSON logger to stdout. Errors under `err` or `error` are reduced to type, message, code and stack frames
 * (R-SEC-3); whole lines lose credentials in URLs.
 */
export function createLogger({
  level,
  name,
  destination,
}: {
  level: string;
  name: string;
  destination?: DestinationStream;
}): Logger {
  return pino(
    {
      level,
      name,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: serializeError, error: serializeError },
      hooks: {
        streamWrite: scrubText,
        // Without a message pino copies the error's own, which no serializer sees.
        logMethod(args, method) {
          const [first, second] = args;
          const error: unknown = first instanceof Error ? first : errorUnder(first);
          if (error instanceof Error && second === undefined) {
            method.apply(this, [first instanceof Error ? { err: first } : first, safeMessage(error)]);
            return;
          }
          method.apply(this, args);
        },
      },
    },
    destination ?? pino.destination(stdout),
  );
}

function errorUnder(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'err' in value ? value.err : undefined;
}
