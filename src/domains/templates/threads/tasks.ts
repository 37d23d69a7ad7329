import type { ErrorKind, ProblemCode } from '../../../lib/errors.ts';
import type { ContentDiff } from '../diff-content.ts';
import type { TemplateBudget, TemplateProblem } from '../problems.ts';
import type { RenderedTexts } from '../render-texts.ts';
import type { CheckedVariables } from '../schema/check-variables.ts';
import type { LiquidTemplate, OnMissing, TemplateFormat } from '../template.ts';
import type { EncodingName, TextTokens } from '../tokens/count-in.ts';

/** A template as it goes to a thread, which keeps what it has parsed. */
export interface TemplateSource {
  format: TemplateFormat;
  source: string;
}

/** A liquid template, or what is wrong with it. */
export type ParsedLiquid = LiquidTemplate | { problems: readonly TemplateProblem[] };

/** What the threads do, by name: the task and its result. Everything here can be cloned. */
export interface ThreadWork {
  parse: { task: { sources: string[] }; result: ParsedLiquid[] };
  render: {
    task: {
      templates: TemplateSource[];
      parts: [string, TemplateSource][];
      variables: Readonly<Record<string, unknown>>;
      onMissing: OnMissing;
    };
    result: RenderedTexts;
  };
  checkSchema: { task: { schema: unknown }; result: { fault?: string } };
  validate: { task: { schema: unknown; variables: unknown }; result: CheckedVariables };
  diff: { task: { from: Content; to: Content }; result: ContentDiff };
  countTokens: { task: { texts: string[]; encoding: EncodingName }; result: TextTokens[] };
}

type Content = Readonly<Record<string, unknown>>;

export type WorkName = keyof ThreadWork;

/** Errors lose their class between threads, so those a caller is told about are values here. */
export type Outcome<Result> =
  | { result: Result }
  | {
      fault: {
        kind: ErrorKind;
        code: ProblemCode;
        message: string;
        problems?: readonly TemplateProblem[];
        budget?: TemplateBudget;
      };
    };

/** `started` is 1 once the thread has taken the task up. */
export interface ThreadCall<Name extends WorkName = WorkName> {
  name: Name;
  task: ThreadWork[Name]['task'];
  started: Int32Array;
}
