import { setFlagsFromString } from 'node:v8';

/**
 * V8 collects the young objects of all threads of a process in helper threads of ordinary priority, those of threads that have little as
 * well: large work then takes a third more of the processor from others than it was given. So each thread collects its own. To be
 * imported before threads are made.
 */
setFlagsFromString('--no-parallel-scavenge');
