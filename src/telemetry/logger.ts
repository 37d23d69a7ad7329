import { type DestinationStream, type Logger, pino } from 'pino';
import { safeMessage, scrubText, serializeError } from './safe-error.ts';

export type { Logger } from 'pino';

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
    destination ?? pino.destination(1),
  );
}

function errorUnder(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'err' in value ? value.err : undefined;
}
