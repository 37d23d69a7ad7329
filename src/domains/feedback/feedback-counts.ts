import type { KeptCounts } from '../../telemetry/metrics.ts';
import { feedbackTargets } from '../executions/index.ts';
import type { TargetType } from './feedback.ts';

const outcomes = ['created', 'updated'] as const;
type Outcome = (typeof outcomes)[number];

/** Counts the feedback that this process has stored, by target and outcome, for Prometheus. */
export class FeedbackCounts implements KeptCounts<'target' | 'outcome'> {
  readonly name = 'feedback_total';
  readonly help = 'Feedback that was stored, by target: created or updated';
  readonly labels = ['target', 'outcome'] as const;
  readonly #counts = new Map<string, number>();

  add(target: TargetType, outcome: Outcome): void {
    const key = `${target} ${outcome}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** Bound to this object, because metrics call it alone. */
  readonly read = async () =>
    feedbackTargets.flatMap((target) =>
      outcomes.map((outcome) => ({ target, outcome, count: this.#counts.get(`${target} ${outcome}`) ?? 0 })),
    );
}
