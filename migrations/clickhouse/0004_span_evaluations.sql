-- What was judged of the span, its trace or its session, as a JSON list (see conventions/evaluations.ts); '' is nothing.
ALTER TABLE spans ADD COLUMN IF NOT EXISTS evaluations String DEFAULT '' CODEC(ZSTD(1)) AFTER params;
