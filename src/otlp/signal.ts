/** A signal of OpenTelemetry whose bodies are stored. Metrics are accepted and not kept. */
export type Signal = 'traces' | 'logs';

/** A signal that a client can export. */
export type ExportedSignal = Signal | 'metrics';
