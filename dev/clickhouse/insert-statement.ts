import { quoteString } from './prelude.ts';
import { topLevelWords, type Word } from './sql-words.ts';

/** An INSERT whose rows follow the statement. It is split where the name of a file with rows can be inserted. */
export interface InsertStatement {
  beforeSource: string;
  afterSource: string;
  format: string;
  /** Offset of the first row. */
  dataStart: number;
}

/**
 * Finds `INSERT INTO .. [SETTINGS ..] FORMAT name` or `INSERT INTO .. VALUES` at the start of
 * `sql`. Returns undefined for every other statement, including INSERT .. SELECT. As in
 * ParserInsertQuery of the engine, rows begin after blanks and at most one line break.
 */
export function parseInsert(sql: string): InsertStatement | undefined {
  let sourceAt: number | undefined;
  let formatWord: Word | undefined;
  let index = 0;
  for (const word of topLevelWords(sql)) {
    index += 1;
    if (index === 1 && !is(word, 'INSERT')) return undefined;
    if (index === 1 || NAME_FOLLOWS.has(word.previous)) continue;
    if (formatWord !== undefined) return cut(sql, sourceAt ?? formatWord.start, formatWord.start, word.text, word.end);
    if (is(word, 'SELECT') || is(word, 'WITH') || is(word, 'FROM') || is(word, 'WATCH')) return undefined;
    if (is(word, 'SETTINGS')) sourceAt ??= word.start;
    if (is(word, 'VALUES')) return cut(sql, sourceAt ?? word.start, word.start, 'Values', word.end);
    if (is(word, 'FORMAT')) formatWord = word;
  }
  return undefined;
}

/** Returns the same INSERT with its rows in a file. The engine reads types and defaults from the table. */
export function insertFromFile(insert: InsertStatement, path: string): string {
  return `${insert.beforeSource} FROM INFILE ${quoteString(path)} ${insert.afterSource} FORMAT ${insert.format}`;
}

const NAME_FOLLOWS = new Set(['INTO', 'TABLE', 'FUNCTION', '.', 'INSERT']);

function cut(sql: string, sourceAt: number, formatAt: number, format: string, end: number): InsertStatement {
  const blanks = /^[ \t\f\v]*\r?\n?/.exec(sql.slice(end, end + 4096))?.[0] ?? '';
  return {
    beforeSource: utf8(sql.slice(0, sourceAt)),
    afterSource: utf8(sql.slice(sourceAt, formatAt)),
    format,
    dataStart: end + blanks.length,
  };
}

function is(word: Word, keyword: string): boolean {
  return word.text.toUpperCase() === keyword;
}

/** Statements are split as latin1, in which an offset is a byte. Their text is UTF-8. */
function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}
