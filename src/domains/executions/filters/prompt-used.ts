/**
 * SQL: whether the execution used one of the prompts in one of the versions, both bound arrays. The one place that says what it
 * means to have used a prompt; one that was not known when it was mentioned is found by its name or by what was sent for it.
 */
export function promptUsed({ ids, versions }: { ids?: string; versions?: string }): string {
  const mentioned = `if(prompt.id != '', has(${ids}, prompt.id), has(${ids}, key) OR has(${ids}, prompt.name))`;
  const tests = [
    ...(ids === undefined ? [] : [mentioned]),
    ...(versions === undefined ? [] : [`has(${versions}, prompt.version)`]),
  ];
  return `arrayExists((prompt, key) -> ${tests.join(' AND ')}, prompts, prompt_keys)`;
}
