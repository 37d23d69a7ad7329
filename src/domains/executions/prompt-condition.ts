import type { PromptMentions } from '../prompts/index.ts';

/** A condition on rows of `executions` with its bound parameters. */
export interface Condition {
  sql: string;
  params: Record<string, unknown>;
}

/** Executions that name a prompt, of any version when none is given, whether it was known when they came or not. */
export function promptCondition({ id, names, keys }: PromptMentions, version?: number): Condition {
  const matches = [
    `(prompt.id = {promptId:String} OR prompt.id = '' AND (has({promptKeys:Array(String)}, key)
      OR has({promptNames:Array(String)}, prompt.name)))`,
    ...(version === undefined ? [] : ['prompt.version = {promptVersion:UInt32}']),
  ];
  return {
    sql: `arrayExists((prompt, key) -> ${matches.join(' AND ')}, prompts, prompt_keys)`,
    params: {
      promptId: id,
      promptKeys: keys,
      promptNames: names,
      ...(version === undefined ? {} : { promptVersion: version }),
    },
  };
}
