import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { runClickHouse } from '../../stores/clickhouse/errors.ts';
import { ofTraces } from '../spans/index.ts';
import { listSettings } from './list-settings.ts';

/** A summary that was stored before its lists had a bound may be of megabytes; over these bytes it is cut before it leaves the engine. */
const bytesMax = 32 * 1024;
const itemsMax = 64;
const itemBytesMax = 300;
const textBytesMax = 1_000;

/** SQL of `executions.summary` as lists read it: '' where {@link fillCutSummaries} has to be asked. */
export const shownSummary = `if(length(summary) > ${bytesMax}, '', summary)`;

/** Each member of the JSON: lists have their first items, long texts their beginning, and all that is short stays. */
const cutMember = `multiIf(
  length(member.2) <= ${textBytesMax}, member.2,
  startsWith(member.2, '['), concat('[', arrayStringConcat(arraySlice(
    arrayFilter(item -> length(item) <= ${itemBytesMax}, JSONExtractArrayRaw(member.2)), 1, ${itemsMax}), ','), ']'),
  startsWith(member.2, '"'), toJSONString(substringUTF8(JSONExtractString(member.2), 1, ${itemBytesMax})),
  'null')`;
const cutSummary = `concat('{', arrayStringConcat(arrayMap(
  member -> concat(toJSONString(member.1), ':', ${cutMember}), JSONExtractKeysAndValuesRaw(summary)), ','), '}')`;

/** The rows with the summaries that {@link shownSummary} left out, cut to some tens of KiB. Throws UnavailableError. */
export async function fillCutSummaries<Row extends { traceId: string; summary: string }>(
  clickhouse: ClickHouse,
  projectId: string,
  rows: readonly Row[],
): Promise<Row[]> {
  const traceIds = rows.flatMap(({ traceId, summary }) => (summary === '' ? [traceId] : []));
  if (traceIds.length === 0) return [...rows];
  const found = await runClickHouse(async () => {
    const result = await clickhouse.query({
      query: `SELECT lower(hex(trace_id)), ${cutSummary} FROM executions
              PREWHERE project_id = {projectId:String} AND ${ofTraces('{traceIds:String}')}
              ORDER BY version DESC, summarised_at DESC LIMIT 1 BY trace_id`,
      query_params: { projectId, traceIds: traceIds.join('') },
      clickhouse_settings: listSettings,
      format: 'JSONCompactEachRow',
    });
    return result.json<[traceId: string, summary: string]>();
  });
  const summaries = new Map(found);
  return rows.flatMap((row) => {
    const summary = row.summary === '' ? summaries.get(row.traceId) : row.summary;
    return summary === undefined ? [] : [{ ...row, summary }];
  });
}
