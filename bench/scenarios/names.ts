/** Scenarios in the order in which they run. `overload` needs the result of `throughput`. */
export const scenarioNames = [
  'throughput',
  'ack',
  'freshness',
  'records',
  'overload',
  'bomb',
  'requests',
  'render',
  'reads',
  'analytics',
  'growth',
] as const;

export type ScenarioName = (typeof scenarioNames)[number];

/** `reads`, `analytics` and `growth` take minutes. They and `render` do not measure ingestion. `records` measures few projects. */
const onRequest: readonly ScenarioName[] = ['records', 'render', 'reads', 'analytics', 'growth'];

/** Scenarios that run by default. */
export const defaultScenarioNames: readonly ScenarioName[] = scenarioNames.filter((name) => !onRequest.includes(name));
