import { type Config, ConfigError, readConfig } from '../config.ts';

/** Reads the environment. If it is not valid, prints what to correct and ends the process with code 1. */
export function configOrExit(): Config {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
