import type { KeptCounts } from '../../../telemetry/metrics.ts';

/** Counts the requests of metrics that this process has accepted and thrown away, for Prometheus. */
export class UnkeptCounts implements KeptCounts<'unit'> {
  readonly name = 'otlp_metrics_accepted_total';
  readonly help = 'OpenTelemetry metrics that were accepted and not kept: requests and bytes';
  readonly labels = ['unit'] as const;
  #requests = 0;
  #bytes = 0;

  add(bytes: number): void {
    this.#requests++;
    this.#bytes += bytes;
  }

  /** Bound to this object, because metrics call it alone. */
  readonly read = async () => [
    { unit: 'requests', count: this.#requests },
    { unit: 'bytes', count: this.#bytes },
  ];
}
