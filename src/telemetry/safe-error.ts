/** The fields of an error that may be logged. */
export interface SafeError {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: SafeError;
}

/**
 * Reduces an error to what may be logged. Other properties are never included: ioredis puts the
 * whole command with its arguments on the error, and pg puts row values into `detail`.
 */
export function serializeError(error: unknown, causesMax = 3): SafeError {
  if (!(error instanceof Error))
    return { type: typeof error, message: scrubText(String(error)).slice(0, messageCharsMax) };
  const code =
    'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? error.code : undefined;
  const stack = framesOf(error);
  return {
    type: error.name,
    message: safeMessage(error),
    ...(code === undefined ? {} : { code: String(code) }),
    ...(stack === '' ? {} : { stack }),
    ...(error.cause === undefined || causesMax === 0 ? {} : { cause: serializeError(error.cause, causesMax - 1) }),
  };
}

/**
 * Returns the message without Redis command arguments, without the SQL text that knex adds, and
 * without URL credentials.
 */
export function safeMessage(error: Error): string {
  let message = error.message.replace(redisArguments, '$1 [redacted]').replace(knexStatement, '[statement] - ');
  for (const argument of commandArguments(error)) message = message.replaceAll(argument, '[redacted]');
  return scrubText(message).slice(0, messageCharsMax);
}

/** Removes credentials from URLs, such as `postgres://user:secret@host`. */
export function scrubText(text: string): string {
  return text.includes('://') ? text.replace(urlCredentials, '$1***@') : text;
}

const messageCharsMax = 2_000;
const urlCredentials = /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"'\\]+@/gi;
/** Redis quotes the arguments of an unknown command. */
const redisArguments = /(with args beginning with:).*/s;
/** knex writes `<statement with its values> - <message of the driver>`. */
const knexStatement = /^\s*(?:select|insert|update|delete|with|create|alter|drop|begin|commit|rollback|set)\b.* - /is;

function commandArguments(error: Error): string[] {
  const command: unknown = 'command' in error ? error.command : undefined;
  if (typeof command !== 'object' || command === null || !('args' in command) || !Array.isArray(command.args))
    return [];
  const args: unknown[] = command.args;
  return args.map(String).filter((text) => text.length >= 3);
}

/** Returns only the frames: the first lines of a stack repeat the unfiltered message. */
function framesOf(error: Error): string {
  const lines = (error.stack ?? '').split('\n');
  return lines.filter((line) => /^\s+at /.test(line)).join('\n');
}
