export { type QuarantineBodyDeps, quarantineBody } from './quarantine/quarantine-body.ts';
export { pruneQuarantine } from './quarantine/quarantine-store.ts';
export { isKnownToPass } from './store/body-errors.ts';
export { createStoring } from './store/create-storing.ts';
export { ingestBody, isHopeless } from './store/ingest-body.ts';
export { type IngestOrIsolateDeps, ingestOrIsolate } from './store/ingest-or-isolate.ts';
export { type SweepBodiesDeps, sweepBodies } from './store/sweep-bodies.ts';
