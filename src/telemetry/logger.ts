import { type DestinationStream, type Logger, pino } from 'pino';
import { safeMessage, scrubText, serializeError } from './safe-error.ts';

export type { Logger } from 'pino';

/**
 * Lines are buffered and written outside of the event loop; one write(2) per request took a tenth
 * of the event loop under load. A process that ends writes the rest; a killed one loses 0.1 s of
 * lines. If no process reads them, up to `maxLength` bytes wait.
 */
const stdout = { dest: 1, sync: false, minLength: 4_096, periodicFlush: 100, maxLength: 16 * 1024 * 1024 };

/**
 * Creates a JSON logger to stdout. It reduces errors under `err` or `error` to type, message, code
 * and stack frames. It removes URL credentials from every line.
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
        // Without a message pino copies the message of the error, which no serializer sees.
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
