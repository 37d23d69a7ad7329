/** Scenarios in the order in which they run. `overload` needs the result of `throughput`. */
export const scenarioNames = [
  'throughput',
  'ack',
  'freshness',
  'overload',
  'bomb',
  'requests',
  'render',
  'reads',
] as const;

export type ScenarioName = (typeof scenarioNames)[number];

/** Scenarios that run by default. `reads` takes minutes. `reads` and `render` do not measure ingestion. */
export const defaultScenarioNames: readonly ScenarioName[] = scenarioNames.filter(
  (name) => name !== 'reads' && name !== 'render',
);
