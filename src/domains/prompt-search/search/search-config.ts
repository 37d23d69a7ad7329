/** A metric as the API takes it: see metrics/. */
export interface MetricConfig {
  type: string;
  weight?: number | undefined;
  gate?: boolean | undefined;
  options?: Readonly<Record<string, unknown>> | undefined;
}

export interface ModelConfig {
  model: string;
  params: Readonly<Record<string, unknown>>;
}

/** A run's config with every default filled in. */
export interface SearchConfig {
  algorithm: 'reflective' | 'meta_prompt' | 'few_shot';
  seed: number;
  metrics: readonly MetricConfig[];
  target: ModelConfig & { samplesPerRow: number };
  reflection: ModelConfig;
  /** null where there is no limit. */
  budget: { maxCalls: number | null; maxTokens: number | null; maxCostUsd: string | null; maxDurationS: number | null };
  search: {
    maxIterations: number;
    patience: number;
    minibatchSize: number;
    valSize: number | null;
    concurrency: number;
    maxPromptTokens: number | null;
    targetScore: number | null;
    guidance: string | null;
  };
  minEffect: number;
}
