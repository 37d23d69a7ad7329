import { setFlagsFromString } from 'node:v8';

/**
 * Makes each thread collect its own garbage. By default V8 collects the young objects of all
 * threads in helper threads of normal priority, even for threads of low priority, so large work
 * takes a third more of the processor from other work than intended. Import it before threads are
 * created.
 */
setFlagsFromString('--no-parallel-scavenge');
