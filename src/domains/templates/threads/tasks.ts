import type { ErrorKind, ProblemCode } from '../../../lib/errors.ts';
import type { MetricConfig, MetricFault, MetricScore, ScoreInput } from '../../prompt-search/index.ts';
import type { ContentDiff } from '../diff-content.ts';
import type { TemplateBudget, TemplateProblem } from '../problems.ts';
import type { RenderedTexts } from '../render-texts.ts';
import type { CheckedVariables } from '../schema/check-variables.ts';
import type { LiquidTemplate, OnMissing, TemplateFormat } from '../template.ts';
import type { EncodingName, TextTokens } from '../tokens/count-in.ts';

/** A template as sent to a worker thread. The thread caches what it has parsed. */
export interface TemplateSource {
  format: TemplateFormat;
  source: string;
}

/** A liquid template, or its problems. */
export type ParsedLiquid = LiquidTemplate | { problems: readonly TemplateProblem[] };

/**
 * The tasks of the worker threads and their results, by name. All values can be cloned between
 * threads.
 */
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
  validate: { task: { workspaceId: string; schema: unknown; variables: unknown }; result: CheckedVariables };
  diff: { task: { from: Content; to: Content }; result: ContentDiff };
  checkMetrics: { task: { metrics: readonly MetricConfig[] }; result: MetricFault[] };
  score: { task: { metric: MetricConfig; input: ScoreInput }; result: MetricScore };
  countTokens: { task: { texts: string[]; encoding: EncodingName }; result: TextTokens[] };
}

type Content = Readonly<Record<string, unknown>>;

export type WorkName = keyof ThreadWork;

/**
 * The result of a task. Errors lose their class between threads, so errors meant for the caller are
 * returned as values.
 */
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

/** A call to a worker thread. The thread calls `noteThreadBegins(begun)` when it begins the task. */
export interface ThreadCall<Name extends WorkName = WorkName> {
  name: Name;
  task: ThreadWork[Name]['task'];
  begun: Int32Array;
}
