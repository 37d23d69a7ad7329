import { check } from '../../../http/faults.ts';
import { checkJson } from '../../../http/json-walk.ts';
import { AppError, type Fault, InvalidError } from '../../../lib/errors.ts';
import { countJsonTokens } from '../../../lib/json-values.ts';
import { partKind } from '../../parts/index.ts';
import { hashOf, itemLimits } from '../../versioned/index.ts';
import { promptKind } from '../prompt-content.ts';
import { contentOfLine, type ItemLine, type TransferLine, transferLine, type VersionLine } from './transfer-line.ts';

/** Checks the order of lines: an item is followed by all its versions, in order. */
export class LineOrder {
  readonly #seen = new Set<string>();
  #item: ItemLine | undefined;
  #next = 1;

  /**
   * Checks that a line may follow the lines before it.
   * @throws InvalidError when it may not
   */
  take(line: TransferLine): void {
    if ('labels' in line) {
      this.end();
      this.#begin(line);
      return;
    }
    const item = this.#item;
    const record = line.record === 'part_version' ? 'part' : 'prompt';
    if (item?.record !== record || item.slug !== line.slug) {
      throw wrongOrder(`must follow the line of the ${record} ${line.slug}`);
    }
    if (line.version !== this.#next || line.version > item.versions) {
      throw wrongOrder(`is version ${line.version}. The expected version is ${Math.min(this.#next, item.versions)}`);
    }
    if (line.record === 'prompt_version' && item.record === 'prompt' && line.type !== item.type) {
      throw wrongOrder(`has the type ${line.type}. The type of the prompt is ${item.type}`);
    }
    const later = [line.parent_version, line.rolled_back_from].find((version) => (version ?? 0) >= line.version);
    if (later !== undefined) throw wrongOrder(`is version ${line.version}. It cannot be derived from version ${later}`);
    this.#next += 1;
  }

  /**
   * Ends the current item.
   * @throws InvalidError when versions of it are missing
   */
  end(): void {
    const item = this.#item;
    this.#item = undefined;
    if (item !== undefined && this.#next <= item.versions) {
      throw wrongOrder(`must be version ${this.#next} of ${item.slug}, which has ${item.versions} versions`);
    }
  }

  #begin(line: ItemLine): void {
    const key = `${line.record} ${line.slug}`;
    if (this.#seen.has(key)) throw wrongOrder(`repeats the ${key}`);
    const high = Object.entries(line.labels).find(([, version]) => version > line.versions);
    if (high !== undefined)
      throw wrongOrder(`has the label ${high[0]} at version ${high[1]}, but only ${line.versions} versions`);
    this.#seen.add(key);
    this.#item = line;
    this.#next = 1;
  }
}

const wrongOrder = (what: string) => new InvalidError('invalid_body', `This line ${what}`);

/**
 * JSON tokens of one line, so that parsing it takes about 20 ms. A version may have
 * `itemLimits.jsonValuesMax` values each in config and input schema, twice that with keys; 2,000
 * tokens remain for 200 messages and the other fields.
 */
const lineTokensMax = 4 * itemLimits.jsonValuesMax + 2_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses and validates a line.
 * @throws InvalidError, MalformedError
 */
export function parseLine(bytes: Buffer): TransferLine {
  const tokens = countJsonTokens(bytes);
  if (tokens > lineTokensMax) {
    throw new InvalidError(
      'invalid_body',
      `This line has ${tokens} values and keys. At most ${lineTokensMax} are allowed`,
    );
  }
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new InvalidError('invalid_body', 'This line is not valid JSON in UTF-8');
  }
  checkJson(value, text);
  const result = check(transferLine, value);
  if (result.ok) return result.value;
  const [first] = result.faults;
  throw new InvalidError('invalid_body', `${first?.path}: ${first?.message}`);
}

/**
 * Checks that the content of a version matches its hash, and returns the content.
 * @throws InvalidError when it does not
 */
export function requireHash(line: VersionLine): NonNullable<ReturnType<typeof contentOfLine>> {
  const content = contentOfLine(line);
  if (content === undefined) {
    throw new InvalidError('invalid_body', 'This line must have a template for a text, or messages for a chat');
  }
  const hash = 'part' in content ? hashOf(partKind, content.part) : hashOf(promptKind, content.prompt);
  if (hash === line.content_hash) return content;
  throw new InvalidError(
    'invalid_body',
    `content_hash: ${line.content_hash} is not the hash of the content, which is ${hash}`,
  );
}

/**
 * Converts an error of a line to a fault of the import. Rethrows errors that the line did not
 * cause.
 */
export function faultOf(number: number, error: unknown): Fault {
  if (!(error instanceof AppError) || (error.kind !== 'invalid' && error.kind !== 'malformed')) throw error;
  return { path: `line ${number}`, code: error.code, message: error.message };
}
