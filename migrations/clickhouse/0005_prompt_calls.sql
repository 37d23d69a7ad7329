-- What an unknown prompt is looked for by beside its name: the id that was sent, or `sha256:` and the hash of a template's text.
ALTER TABLE spans ADD COLUMN IF NOT EXISTS prompt_key String CODEC(ZSTD(1)) AFTER prompt_source;
-- Beside `prompts`, element by element. Rows from before say one call each: the span that named the prompt.
ALTER TABLE executions
  ADD COLUMN IF NOT EXISTS prompt_keys Array(String) DEFAULT arrayMap(p -> '', prompts) AFTER prompts,
  ADD COLUMN IF NOT EXISTS prompt_calls Array(UInt32) DEFAULT arrayMap(p -> 1, prompts) AFTER prompt_keys;
