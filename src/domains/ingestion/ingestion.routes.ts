import { createExecutionEndpoint } from './create-execution/create-execution.routes.ts';
import { type ExportDeps, exportEndpoints } from './otlp.routes.ts';
import { type QuarantineDeps, quarantineEndpoints } from './quarantine/quarantine.routes.ts';
import { BodyWaits } from './receive/body-waits.ts';

export type IngestionDeps = ExportDeps & QuarantineDeps;

/** Returns the endpoints that receive spans, log records and executions, and those of the quarantine. */
export function ingestionEndpoints(deps: IngestionDeps) {
  return [
    ...exportEndpoints(deps),
    createExecutionEndpoint({ ...deps, waits: new BodyWaits(deps.publisher) }),
    ...quarantineEndpoints(deps),
  ];
}
