import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { readRows } from '../../stores/clickhouse/statements.ts';
import { ofTraces } from '../spans/index.ts';
import { listSettings } from './list-settings.ts';

/**
 * A longer summary is cut by ClickHouse before it is sent. The lists of a summary are limited in
 * characters, and these can have several bytes each.
 */
const bytesMax = 32 * 1024;
const itemsMax = 64;
/** A tag of 128 characters with three bytes each is not longer. */
const itemBytesMax = 400;
const textBytesMax = 1_000;
const textCharsMax = 300;

/**
 * SQL of `executions.summary` for lists. It is '' when {@link fillCutSummaries} must read a cut
 * summary.
 */
export const shownSummary = `if(length(summary) > ${bytesMax}, '', summary)`;

/**
 * Cuts each member of the JSON: a list keeps its first items, a long text its beginning. Short
 * members stay unchanged.
 */
const cutMember = `multiIf(
  length(member.2) <= ${textBytesMax}, member.2,
  startsWith(member.2, '['), concat('[', arrayStringConcat(arraySlice(
    arrayFilter(item -> length(item) <= ${itemBytesMax}, JSONExtractArrayRaw(member.2)), 1, ${itemsMax}), ','), ']'),
  startsWith(member.2, '"'), toJSONString(substringUTF8(JSONExtractString(member.2), 1, ${textCharsMax})),
  'null')`;
const cutSummary = `concat('{', arrayStringConcat(arrayMap(
  member -> concat(toJSONString(member.1), ':', ${cutMember}), JSONExtractKeysAndValuesRaw(summary)), ','), '}')`;

/**
 * Fills in the summaries that {@link shownSummary} left out, each cut to some tens of KiB.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function fillCutSummaries<Row extends { traceId: string; summary: string }>(
  clickhouse: ClickHouse,
  projectId: string,
  rows: readonly Row[],
): Promise<Row[]> {
  const traceIds = rows.flatMap(({ traceId, summary }) => (summary === '' ? [traceId] : []));
  if (traceIds.length === 0) return [...rows];
  const found = await readRows<{ traceId: string; shown: string }>(clickhouse, {
    query: `SELECT lower(hex(trace_id)) AS traceId, ${cutSummary} AS shown FROM executions
            PREWHERE project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')}
            ORDER BY version DESC, summarized_at DESC LIMIT 1 BY trace_id`,
    query_params: { projectId, traceIds: traceIds.join('') },
    clickhouse_settings: listSettings,
    format: 'JSONEachRow',
  });
  const summaries = new Map(found.map(({ traceId, shown }) => [traceId, shown]));
  return rows.flatMap((row) => {
    const summary = row.summary === '' ? summaries.get(row.traceId) : row.summary;
    return summary === undefined ? [] : [{ ...row, summary }];
  });
}
