/** In the order in which they run: overload needs what throughput measured. */
export const scenarioNames = ['throughput', 'ack', 'freshness', 'overload', 'bomb'] as const;

export type ScenarioName = (typeof scenarioNames)[number];
