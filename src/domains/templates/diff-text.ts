/**
 * Changed lines up to which the shortest edit is searched; the cost grows with their square. With
 * more changes, everything between the common beginning and end is shown as replaced.
 */
const changesMax = 400;
/** Lines up to which the shortest edit is searched; more lines are shown as replaced. */
const comparedLinesMax = 10_000;
const contextLines = 3;

type Kind = ' ' | '-' | '+';
interface Line {
  kind: Kind;
  text: string;
}

/**
 * Returns a unified diff of two texts without a file header, '' when they are equal. Lines are
 * compared whole.
 */
export function diffText(from: string, to: string): string {
  if (from === to) return '';
  return hunks(editLines(from.split('\n'), to.split('\n'))).join('\n');
}

function editLines(a: readonly string[], b: readonly string[]): Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [oldMiddle, newMiddle] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  return [
    ...mark(' ', a.slice(0, start)),
    ...(shortestEdit(oldMiddle, newMiddle) ?? [...mark('-', oldMiddle), ...mark('+', newMiddle)]),
    ...mark(' ', a.slice(a.length - end)),
  ];
}

const mark = (kind: Kind, lines: readonly string[]): Line[] => lines.map((text) => ({ kind, text }));

/**
 * Finds the shortest edit: Myers, "An O(ND) Difference Algorithm" (1986), greedy with a trace.
 * Returns undefined when there are more than `changesMax` edits or too many lines.
 */
function shortestEdit(a: readonly string[], b: readonly string[]): Line[] | undefined {
  if (a.length + b.length > comparedLinesMax) return undefined;
  const [oldIds, newIds] = numberLines(a, b);
  const trace: Int32Array[] = [];
  const max = Math.min(a.length + b.length, changesMax);
  const furthest = new Int32Array(2 * max + 3);
  for (let edits = 0; edits <= max; edits++) {
    trace.push(furthest.slice(max + 1 - edits - 1, max + 1 + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = max + 1 + diagonal;
      let x = isDown(furthest, at, diagonal, edits) ? (furthest[at + 1] ?? 0) : (furthest[at - 1] ?? 0) + 1;
      while (x < a.length && x - diagonal < b.length && oldIds[x] === newIds[x - diagonal]) x++;
      furthest[at] = x;
      if (x >= a.length && x - diagonal >= b.length) return backtrack(a, b, trace);
    }
  }
  return undefined;
}

/** Gives equal lines equal numbers, so that each line is compared as text only once. */
function numberLines(a: readonly string[], b: readonly string[]): [Int32Array, Int32Array] {
  const ids = new Map<string, number>();
  const idOf = (line: string) => {
    const known = ids.get(line) ?? ids.size;
    ids.set(line, known);
    return known;
  };
  return [Int32Array.from(a, idOf), Int32Array.from(b, idOf)];
}

function isDown(furthest: Int32Array, at: number, diagonal: number, edits: number): boolean {
  if (diagonal === -edits) return true;
  return diagonal !== edits && (furthest[at - 1] ?? 0) < (furthest[at + 1] ?? 0);
}

function backtrack(a: readonly string[], b: readonly string[], trace: readonly Int32Array[]): Line[] {
  const lines: Line[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const furthest = trace[edits] ?? new Int32Array();
    const center = edits + 1;
    const diagonal = x - y;
    const down = isDown(furthest, center + diagonal, diagonal, edits);
    const before = down ? diagonal + 1 : diagonal - 1;
    const beforeX = edits === 0 ? 0 : (furthest[center + before] ?? 0);
    const beforeY = edits === 0 ? 0 : beforeX - before;
    while (x > beforeX && y > beforeY) {
      lines.push({ kind: ' ', text: a[--x] ?? '' });
      y--;
    }
    if (edits === 0) break;
    lines.push(down ? { kind: '+', text: b[--y] ?? '' } : { kind: '-', text: a[--x] ?? '' });
  }
  return lines.reverse();
}

/** Groups changes with the lines around them, each group below its `@@` line. */
function hunks(lines: readonly Line[]): string[] {
  const ranges: { begin: number; end: number }[] = [];
  lines.forEach(({ kind }, index) => {
    if (kind === ' ') return;
    const begin = Math.max(0, index - contextLines);
    const last = ranges.at(-1);
    if (last && begin <= last.end) last.end = Math.min(lines.length, index + contextLines + 1);
    else ranges.push({ begin, end: Math.min(lines.length, index + contextLines + 1) });
  });
  const result: string[] = [];
  let [seen, oldLine, newLine] = [0, 1, 1];
  for (const { begin, end } of ranges) {
    // Between two hunks both sides are equal.
    oldLine += begin - seen;
    newLine += begin - seen;
    const hunk = lines.slice(begin, end);
    const [oldCount, newCount] = [countNot('+', hunk), countNot('-', hunk)];
    result.push(`@@ -${rangeOf(oldLine, oldCount)} +${rangeOf(newLine, newCount)} @@`);
    for (const { kind, text } of hunk) result.push(kind + text);
    [seen, oldLine, newLine] = [end, oldLine + oldCount, newLine + newCount];
  }
  return result;
}

/** Formats a range. The unified format names the line before an empty range. */
const rangeOf = (line: number, count: number) => `${count === 0 ? line - 1 : line},${count}`;

const countNot = (kind: Kind, lines: readonly Line[]) =>
  lines.reduce((count, line) => (line.kind === kind ? count : count + 1), 0);
