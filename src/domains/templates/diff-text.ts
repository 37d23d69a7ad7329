/** Above this many changed lines, what lies between the common ends is shown as replaced: the cost grows with their square. */
const changesMax = 1_000;
const contextLines = 3;

type Kind = ' ' | '-' | '+';
interface Line {
  kind: Kind;
  text: string;
}

/** A unified diff of two texts, '' when they are the same. Lines are compared whole; there is no file header. */
export function diffText(from: string, to: string): string {
  if (from === to) return '';
  const lines = editLines(from.split('\n'), to.split('\n'));
  return hunks(lines).join('\n');
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

/** Myers, "An O(ND) Difference Algorithm" (1986), greedy with a trace; undefined when there are more than `changesMax` edits. */
function shortestEdit(a: readonly string[], b: readonly string[]): Line[] | undefined {
  const trace: Int32Array[] = [];
  const max = Math.min(a.length + b.length, changesMax);
  const furthest = new Int32Array(2 * max + 3);
  for (let edits = 0; edits <= max; edits++) {
    trace.push(furthest.slice(max + 1 - edits - 1, max + 1 + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = max + 1 + diagonal;
      let x = isDown(furthest, at, diagonal, edits) ? (furthest[at + 1] ?? 0) : (furthest[at - 1] ?? 0) + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
      furthest[at] = x;
      if (x >= a.length && x - diagonal >= b.length) return backtrack(a, b, trace);
    }
  }
  return undefined;
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
    const centre = edits + 1;
    const diagonal = x - y;
    const down = isDown(furthest, centre + diagonal, diagonal, edits);
    const before = down ? diagonal + 1 : diagonal - 1;
    const beforeX = edits === 0 ? 0 : (furthest[centre + before] ?? 0);
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

/** Groups of changes with the lines around them, each under its `@@` line. */
function hunks(lines: readonly Line[]): string[] {
  const changed = lines.flatMap(({ kind }, index) => (kind === ' ' ? [] : [index]));
  const ranges: [number, number][] = [];
  for (const index of changed) {
    const [begin, end] = [Math.max(0, index - contextLines), Math.min(lines.length, index + contextLines + 1)];
    const last = ranges.at(-1);
    if (last && begin <= last[1]) last[1] = end;
    else ranges.push([begin, end]);
  }
  let [seen, oldLine, newLine] = [0, 1, 1];
  return ranges.flatMap(([begin, end]) => {
    oldLine += countNot('+', lines.slice(seen, begin));
    newLine += countNot('-', lines.slice(seen, begin));
    const hunk = lines.slice(begin, end);
    const [oldCount, newCount] = [countNot('+', hunk), countNot('-', hunk)];
    const header = `@@ -${oldCount === 0 ? oldLine - 1 : oldLine},${oldCount} +${newCount === 0 ? newLine - 1 : newLine},${newCount} @@`;
    [seen, oldLine, newLine] = [end, oldLine + oldCount, newLine + newCount];
    return [header, ...hunk.map(({ kind, text }) => kind + text)];
  });
}

const countNot = (kind: Kind, lines: readonly Line[]) => lines.filter((line) => line.kind !== kind).length;
