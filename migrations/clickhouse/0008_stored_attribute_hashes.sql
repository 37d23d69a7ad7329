-- The hashes of short attributes are stored: 5 % more bytes, but to plan a query over them takes 4 ms less than over a formula of that
-- length, and parts that are not indexed yet are read in a fraction of the time. Stored, they may be said without the detours of
-- `short_attributes`, and hold exactly what src/domains/executions/filters/attribute-type.ts looks for there.
ALTER TABLE spans DROP INDEX IF EXISTS short_attributes;

ALTER TABLE spans MODIFY COLUMN short_attribute_hashes Array(FixedString(8)) MATERIALIZED arrayMap(
        hash -> reinterpretAsFixedString(hash), arrayFilter(hash -> hash != 0, arrayConcat(
            arrayMap((key, value) -> if(length(value) <= 20, cityHash64(key, value), 0),
                mapKeys(attributes_string), mapValues(attributes_string)),
            arrayMap((key, value) -> cityHash64(key, toString(value)), mapKeys(attributes_int), mapValues(attributes_int)),
            arrayMap((key, value) -> if(length(toString(value)) <= 6, cityHash64(key, toString(value)), 0),
                mapKeys(attributes_double), mapValues(attributes_double)),
            arrayMap((key, value) -> cityHash64(key, toString(value)), mapKeys(attributes_bool), mapValues(attributes_bool)))));

ALTER TABLE spans ADD INDEX IF NOT EXISTS short_attributes short_attribute_hashes TYPE text(tokenizer = 'array');

ALTER TABLE spans MATERIALIZE COLUMN short_attribute_hashes;
ALTER TABLE spans MATERIALIZE INDEX short_attributes;
