import { ConfigError } from '../config.ts';
import { UnavailableError } from '../lib/errors.ts';
import { TopologyError } from '../stores/clickhouse/require-topology.ts';

/** Returns one text for a fault that the operator can repair, and undefined for any other error. */
export function explainFault(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof TopologyError) return error.message;
  if (error instanceof UnavailableError) return `${error.message} (${causeOf(error)})`;
  return undefined;
}

/** Returns the reason of the driver. */
export function causeOf({ cause }: UnavailableError): string {
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
