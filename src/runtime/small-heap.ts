import { setFlagsFromString } from 'node:v8';

/**
 * Collects the garbage of the old generation when the heap has grown by 75 % since the last time. By
 * default V8 waits until it has grown to four times its size where there is much memory, so objects that
 * live as long as a call of a model would take 100 MB. Import it before everything else.
 */
setFlagsFromString('--heap-growing-percent=75');
