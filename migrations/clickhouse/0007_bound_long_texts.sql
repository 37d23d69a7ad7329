-- A data part has rows of all projects, so what a long text costs is bounded. Statements do not wait for the rewriting
-- of existing rows, which can take long; until then, ClickHouse converts what it reads.

-- A dictionary of a part has up to 8,192 texts of any length: everybody who reads or merges the part loads it. So only
-- texts with a limit of length have dictionaries. ZSTD finds repetitions within half a mebibyte.
ALTER TABLE spans
    MODIFY COLUMN span_name String CODEC(ZSTD(1)),
    MODIFY COLUMN input_attribute String CODEC(ZSTD(1)),
    MODIFY COLUMN output_attribute String CODEC(ZSTD(1)),
    MODIFY COLUMN attributes_string Map(String, String) CODEC(ZSTD(3)),
    MODIFY COLUMN attributes_int Map(String, Int64) CODEC(ZSTD(1)),
    MODIFY COLUMN attributes_double Map(String, Float64) CODEC(ZSTD(1)),
    MODIFY COLUMN attributes_bool Map(String, Bool) CODEC(ZSTD(1)),
    MODIFY COLUMN attributes_other Map(String, String) CODEC(ZSTD(1)),
    MODIFY COLUMN resource String CODEC(ZSTD(1)),
    MODIFY COLUMN scope String CODEC(ZSTD(1))
SETTINGS alter_sync = 0;
ALTER TABLE log_records
    MODIFY COLUMN event_name String CODEC(ZSTD(1)),
    MODIFY COLUMN severity_text String CODEC(ZSTD(1)),
    MODIFY COLUMN scope String CODEC(ZSTD(1)),
    MODIFY COLUMN resource String CODEC(ZSTD(1))
SETTINGS alter_sync = 0;
-- Rows of one origin are told apart and counted without reading it for each.
ALTER TABLE spans
    ADD COLUMN IF NOT EXISTS origin_hash UInt64 MATERIALIZED cityHash64(resource, scope) CODEC(ZSTD(1)) AFTER scope;
ALTER TABLE log_records
    ADD COLUMN IF NOT EXISTS origin_hash UInt64 MATERIALIZED cityHash64(resource, scope) CODEC(ZSTD(1)) AFTER resource,
    ADD COLUMN IF NOT EXISTS origin_bytes UInt32 MATERIALIZED length(resource) + length(scope) CODEC(ZSTD(1)) AFTER resource;

-- A merge has 512 words of the index of each data part in memory, and a block of words is read as a whole. Words of
-- more than 4,096 bytes, which no search can name (500 characters), are left out: a text that has one is stored without
-- it as well. ClickHouse fails on an index whose expression has a lambda with constants, so a column computes it. It
-- computes both branches of `if` for each row, so that what is split into words is empty where nothing need be left out.
ALTER TABLE spans
    ADD COLUMN IF NOT EXISTS search_input String MATERIALIZED if(
        arrayExists(word -> length(word) > 4096, tokens(if(length(input) > 4096, input, ''), 'splitByNonAlpha')),
        ' ' || arrayStringConcat(arrayFilter(word -> length(word) <= 4096, tokens(replaceAll(lowerUTF8(if(
            arrayExists(word -> length(word) > 4096, tokens(if(length(input) > 4096, input, ''), 'splitByNonAlpha')),
            input, '')), '\\n', ' '), 'splitByNonAlpha')), ' '), '') CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS search_output String MATERIALIZED if(
        arrayExists(word -> length(word) > 4096, tokens(if(length(output) > 4096, output, ''), 'splitByNonAlpha')),
        ' ' || arrayStringConcat(arrayFilter(word -> length(word) <= 4096, tokens(replaceAll(lowerUTF8(if(
            arrayExists(word -> length(word) > 4096, tokens(if(length(output) > 4096, output, ''), 'splitByNonAlpha')),
            output, '')), '\\n', ' '), 'splitByNonAlpha')), ' '), '') CODEC(ZSTD(1));
ALTER TABLE spans MODIFY COLUMN search_texts Array(String) ALIAS
    array(if(empty(search_input), replaceAll(lowerUTF8(input), '\\n', ' '), search_input),
        if(empty(search_output), replaceAll(lowerUTF8(output), '\\n', ' '), search_output))
SETTINGS alter_sync = 0;
ALTER TABLE spans ADD INDEX IF NOT EXISTS search_words
    array(if(empty(search_input), replaceAll(lowerUTF8(input), '\\n', ' '), search_input),
        if(empty(search_output), replaceAll(lowerUTF8(output), '\\n', ' '), search_output))
    TYPE text(tokenizer = 'splitByNonAlpha', posting_list_codec = 'bitpacking')
SETTINGS alter_sync = 0;
ALTER TABLE spans MATERIALIZE COLUMN search_input SETTINGS mutations_sync = 0;
ALTER TABLE spans MATERIALIZE COLUMN search_output SETTINGS mutations_sync = 0;
ALTER TABLE spans MATERIALIZE INDEX search_words SETTINGS mutations_sync = 0;
ALTER TABLE spans DROP INDEX IF EXISTS words SETTINGS alter_sync = 0;

-- A merge has at least one row of each data part in memory, and a row may have 64 MiB. Merges of parts of equal size begin at about thirty.
ALTER TABLE spans MODIFY SETTING max_parts_to_merge_at_once = 16, merge_selector_base = 30;
ALTER TABLE log_records MODIFY SETTING max_parts_to_merge_at_once = 16, merge_selector_base = 30;
