/** Numbers of SpanKind in OTLP (trace.proto). */
export const otelKinds = { server: 2, client: 3, producer: 4, consumer: 5 } as const;

/**
 * Returns whether the parent only handed work over (producer to consumer) and does not wait for the
 * child.
 */
export function isHandedOver(parent: { otelKind: number }, child: { otelKind: number }): boolean {
  return parent.otelKind === otelKinds.producer && child.otelKind === otelKinds.consumer;
}
