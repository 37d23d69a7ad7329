-- Whether tokens, costs, models, providers and prompts are of the earliest spans only (see src/domains/executions/execution.ts).
ALTER TABLE executions ADD COLUMN IF NOT EXISTS totals_truncated Bool DEFAULT false AFTER unpriced_spans;
