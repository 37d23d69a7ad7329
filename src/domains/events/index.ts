// Only types of `event.ts`: a worker that records events does not load the schemas.
export type { EventType, NewEvent } from './event.ts';
export { type EventToRecord, recordEvent, recordEvents } from './record-event.ts';
