/** In the order in which they run: overload needs what throughput measured. */
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

/** What runs when none is named: `reads` alone takes minutes, and neither it nor `render` is about ingestion. */
export const defaultScenarioNames: readonly ScenarioName[] = scenarioNames.filter(
  (name) => name !== 'reads' && name !== 'render',
);
