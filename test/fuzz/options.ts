import { parseArgs } from 'node:util';

export interface CommandLine {
  minutes: number;
  seed: number;
  parallel: number;
}

export const help = `npm run fuzz -- [options]    sends hostile requests to its own instance; exits with 1 if it finds a fault

  --minutes n     how long to send (default 1; may be a fraction)
  --seed n        repeats the values of a run; each run prints its seed
  --parallel n    requests at the same time (default 6)
  --help`;

const seedsMax = 2 ** 31;

/** Reads the command line. Returns undefined for --help. Throws an Error of one line that names the invalid option. */
export function readOptions(args: readonly string[]): CommandLine | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '1' },
      seed: { type: 'string' },
      parallel: { type: 'string', default: '6' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const seed = values.seed ?? String(Math.floor(Math.random() * seedsMax));
  return {
    minutes: numberWithin('--minutes', values.minutes, 0.1, 24 * 60),
    seed: Math.floor(numberWithin('--seed', seed, 0, seedsMax)),
    parallel: Math.floor(numberWithin('--parallel', values.parallel, 1, 64)),
  };
}

function numberWithin(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= min && value <= max) return value;
  throw new Error(`${option} ${text} is not a number from ${min} to ${max}`);
}
