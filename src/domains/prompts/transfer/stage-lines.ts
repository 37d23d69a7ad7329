import type { FileHandle } from 'node:fs/promises';
import type { Fault } from '../../../lib/errors.ts';
import { Pace, sharedThird } from '../../../lib/pace.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import { referencesOf } from '../../parts/index.ts';
import { parseTemplate, type WorkspaceThreads } from '../../templates/index.ts';
import type { Reference } from '../../versioned/index.ts';
import { checkPromptContent } from '../prompt-collection.ts';
import { faultOf, LineOrder, parseLine, requireHash } from './check-lines.ts';
import type { Deadline } from './deadline.ts';
import { type LineEncoding, type NumberedLine, readLines } from './read-lines.ts';
import { type CheckedVersion, stageItems, stageVersions } from './staging-store.ts';
import type { ItemLine, VersionLine } from './transfer-line.ts';

/**
 * The longest version has a template of 262,144 characters with six bytes each as JSON, a config of
 * 256 KiB and an input schema of 64 KiB, so its line has less than 2 MiB.
 */
const bounds = { bytesMax: 256 * 1024 * 1024, lineBytesMax: 2 * 1024 * 1024, linesMax: 100_000 };
const faultsMax = 100;
/** Lines staged in one statement. A batch also ends when its lines exceed `batchBytesMax`. */
const batchLines = 200;
const batchBytesMax = 1024 * 1024;

export interface StageDeps {
  threads: WorkspaceThreads;
  deadline: Deadline;
}

interface CheckedItem {
  number: number;
  line: ItemLine;
}

/**
 * Reads, checks and stages every line, in slices of the event loop. Returns the faults, at most
 * `faultsMax`, and the bytes that were read.
 * @throws TooLargeError, MalformedError, RateLimitedError, UnavailableError
 */
export async function stageLines(
  { threads, deadline }: StageDeps,
  transaction: Postgres,
  { file, encoding }: { file: FileHandle; encoding: LineEncoding },
): Promise<{ faults: Fault[]; bytes: number }> {
  const order = new LineOrder();
  const pace = new Pace(sharedThird(threads.workspaceId));
  const faults: Fault[] = [];
  let items: CheckedItem[] = [];
  let versions: CheckedVersion[] = [];
  let batchBytes = 0;
  let bytes = 0;
  let number = 0;
  const flush = async () => {
    if (faults.length === 0) {
      await stageItems(transaction, items);
      await stageVersions(transaction, versions);
    }
    items = [];
    versions = [];
    batchBytes = 0;
  };
  for await (const each of readLines(file, encoding, bounds)) {
    deadline.check();
    number = each.number;
    try {
      const checked = await checkLine(threads, order, pace, each);
      if ('references' in checked) versions.push(checked);
      else items.push(checked);
    } catch (error) {
      faults.push(faultOf(each.number, error));
      if (faults.length >= faultsMax) return { faults, bytes };
    }
    bytes += each.bytes.length;
    batchBytes += each.bytes.length;
    if (items.length + versions.length >= batchLines || batchBytes > batchBytesMax) await flush();
    await pace.rest();
  }
  try {
    order.end();
  } catch (error) {
    faults.push(faultOf(number + 1, error));
  }
  await flush();
  return { faults, bytes };
}

async function checkLine(
  threads: WorkspaceThreads,
  order: LineOrder,
  pace: Pace,
  { number, bytes }: NumberedLine,
): Promise<CheckedItem | CheckedVersion> {
  const line = parseLine(bytes);
  order.take(line);
  if ('labels' in line) return { number, line };
  await pace.rest();
  return { number, line, references: await checkVersion(threads, line) };
}

async function checkVersion(threads: WorkspaceThreads, line: VersionLine): Promise<readonly Reference[]> {
  const content = requireHash(line);
  if ('prompt' in content) return checkPromptContent(threads, content.prompt);
  const { templateFormat, template } = content.part;
  return referencesOf((await parseTemplate(threads, templateFormat, template)).parts);
}
