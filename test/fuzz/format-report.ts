import type { Finding } from './findings.ts';
import { toCurl } from './reproducer.ts';
import type { FuzzRequest } from './requests/request.ts';
import type { FuzzReport } from './run-fuzz.ts';

const outcomes = ['2xx', '3xx', '4xx', '5xx', 'left', 'none'];
const requestsShown = 5;
const codesShown = 4;
const nameChars = 28;

/** Returns the findings and figures of a run as text. Writes long bodies and commands to files in `directory`. */
export function formatReport(report: FuzzReport, directory: string): string {
  const { findings, requests, stallsOfOthers } = report;
  const all = findings.all();
  return [
    tableOf(report),
    '',
    `${requests} requests; the canary sent ${report.canary.sent} traces`,
    ...(['readableMs', 'renderMs', 'listMs'] as const).map((name) => `  ${name}: ${percentiles(report.canary[name])}`),
    `stalls in which a process only waited for a processor: ${stallsOfOthers}`,
    ...[...findings.notes].flatMap(([what, { count, requests: of }]) => [
      `note: ${what} (${count} times)`,
      ...of.map((request) => `   ${toCurl(request, report.world, directory)}`),
    ]),
    '',
    `${all.length} findings`,
    ...all.flatMap((finding, at) => describe(finding, at + 1, report, directory)),
  ].join('\n');
}

function describe(
  { kind, title, detail, count, requests }: Finding,
  number: number,
  { world }: FuzzReport,
  directory: string,
): string[] {
  return [
    `${number}. ${kind}: ${title} (${count} times)`,
    ...detail.split('\n').map((line) => `   ${line}`),
    ...largestFirst(requests)
      .slice(0, requestsShown)
      .map((request) => `   ${toCurl(request, world, directory)}`),
  ];
}

function largestFirst(requests: readonly FuzzRequest[]): FuzzRequest[] {
  return requests.toSorted((a, b) => (b.body?.length ?? 0) - (a.body?.length ?? 0));
}

function tableOf({ answers, codes }: FuzzReport): string {
  const rows = [...answers]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([operationId, of]) => ({
      operationId,
      counts: outcomes.map((outcome) => String(of.get(outcome) ?? 0)),
      of: codes.get(operationId) ?? new Map<string, number>(),
    }));
  const head = 'operation'.padEnd(nameChars) + outcomes.map((each) => each.padStart(7)).join('');
  const lines = rows.map(
    ({ operationId, counts, of }) =>
      `${operationId.padEnd(nameChars)}${counts.map((each) => each.padStart(7)).join('')}  ${mostFrequent(of)}`,
  );
  return [head, ...lines].join('\n');
}

function mostFrequent(codes: ReadonlyMap<string, number>): string {
  const sorted = [...codes].toSorted(([, a], [, b]) => b - a);
  return sorted
    .slice(0, codesShown)
    .map(([code, count]) => `${code} ${count}`)
    .join(', ');
}

function percentiles(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, max ${at(1)}`;
}
