/** What a log line may say of an error. */
export interface SafeError {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: SafeError;
}

/**
 * An error reduced to what may be logged. Never other properties: ioredis hangs the whole command with its arguments
 * on the error, pg puts row values into `detail`.
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

/** The message without Redis command arguments, without the SQL text knex puts before it, without URL credentials. */
export function safeMessage(error: Error): string {
  let message = error.message.replace(redisArguments, '$1 [redacted]').replace(knexStatement, '[statement] - ');
  for (const argument of commandArguments(error)) message = message.replaceAll(argument, '[redacted]');
  return scrubText(message).slice(0, messageCharsMax);
}

/** Credentials in URLs, such as `postgres://user:secret@host`. */
export function scrubText(text: string): string {
  return text.includes('://') ? text.replace(urlCredentials, '$1***@') : text;
}

const messageCharsMax = 2_000;
const urlCredentials = /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"'\\]+@/gi;
/** Redis quotes the arguments of a command it does not know. */
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

/** Only the frames: the first lines of a stack repeat the message as it was. */
function framesOf(error: Error): string {
  const lines = (error.stack ?? '').split('\n');
  return lines.filter((line) => /^\s+at /.test(line)).join('\n');
}
