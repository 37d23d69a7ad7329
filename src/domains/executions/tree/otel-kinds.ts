/** OTLP's numbers of SpanKind (trace.proto). */
export const otelKinds = { server: 2, client: 3, producer: 4, consumer: 5 } as const;

/** An answer that nobody waits for: the parent only handed work over. */
export function isHandedOver(parent: { otelKind: number }, child: { otelKind: number }): boolean {
  return parent.otelKind === otelKinds.producer && child.otelKind === otelKinds.consumer;
}
