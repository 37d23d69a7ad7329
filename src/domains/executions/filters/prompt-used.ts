/**
 * SQL: whether the execution used one of the prompts in one of the versions, both bound arrays. The one place that says what it
 * means to have used a prompt.
 */
export function promptUsed({ ids, versions }: { ids?: string; versions?: string }): string {
  const tests = [
    ...(ids === undefined ? [] : [`has(${ids}, prompt.id)`]),
    ...(versions === undefined ? [] : [`has(${versions}, prompt.version)`]),
  ];
  return `arrayExists(prompt -> ${tests.join(' AND ')}, prompts)`;
}
