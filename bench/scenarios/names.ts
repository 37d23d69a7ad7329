/** In the order in which they run: overload needs what throughput measured. */
export const scenarioNames = ['throughput', 'ack', 'freshness', 'overload', 'bomb', 'requests'] as const;

export type ScenarioName = (typeof scenarioNames)[number];
