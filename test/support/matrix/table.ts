import type { Cell } from './sweep.ts';

/**
 * Returns the statuses as two tables: by credential with ids of the caller, and by kind of id for
 * the credentials with the most rights.
 */
export function formatMatrix(cells: readonly Cell[]): string {
  const own = cells.filter(({ parameter }) => parameter === undefined);
  const byCredential = grid(
    own,
    ({ operationId }) => operationId,
    ({ credential }) => credential,
  );
  const telling = new Set(['key', 'owner', 'operator']);
  const replaced = cells.filter(({ parameter, credential }) => parameter !== undefined && telling.has(credential));
  const byId = grid(
    replaced,
    ({ operationId, parameter }) => `${operationId} ${parameter}`,
    ({ kind }) => kind,
  );
  return [
    'Status by credential, with ids of its own project (B: another tenant; sib: another project of the workspace)',
    byCredential,
    '',
    'Status by what replaces a path parameter, for a key with every scope / the owner / the operator',
    byId,
  ].join('\n');
}

/** If a field has several statuses, they are listed in their order. */
function grid(cells: readonly Cell[], rowOf: (cell: Cell) => string, columnOf: (cell: Cell) => string): string {
  const columns = [...new Set(cells.map(columnOf))];
  const rows = new Map<string, Map<string, string>>();
  for (const cell of cells) {
    const row = rows.get(rowOf(cell)) ?? new Map<string, string>();
    rows.set(rowOf(cell), row);
    const before = row.get(columnOf(cell));
    row.set(columnOf(cell), before === undefined ? String(cell.status) : `${before} ${cell.status}`);
  }
  const lines = [...rows].map(([name, row]) => [name, ...columns.map((column) => row.get(column) ?? '-')]);
  return align([['', ...columns], ...lines]);
}

function align(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
