/**
 * Returns SQL that is true when the execution used one of the prompts in one of the versions; both
 * are bound arrays. Only this function defines when a prompt is used. A prompt that was unknown
 * when it was mentioned is found by its name or by its key.
 */
export function promptUsed({ ids, versions }: { ids?: string; versions?: string }): string {
  const mentioned = `if(prompt.id != '', has(${ids}, prompt.id), has(${ids}, key) OR has(${ids}, prompt.name))`;
  const tests = [
    ...(ids === undefined ? [] : [mentioned]),
    ...(versions === undefined ? [] : [`has(${versions}, prompt.version)`]),
  ];
  return `arrayExists((prompt, key) -> ${tests.join(' AND ')}, prompts, prompt_keys)`;
}
