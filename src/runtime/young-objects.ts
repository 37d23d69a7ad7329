import { setFlagsFromString } from 'node:v8';

/**
 * Turns off pretenuring. V8 learns which code creates objects that live long, and creates those
 * directly in the old generation. Objects of a request die with it, but under load many requests
 * are in progress, so V8 treats their objects as long-lived, and garbage collection takes a fifth
 * of the processor. Import it before everything else.
 */
setFlagsFromString('--no-allocation-site-pretenuring');
