const mebibyte = 1024 * 1024;

/** Bytes of request bodies of one workspace that a process holds at a time. So no body can be larger. */
export const workspaceBodyBytesMax = 48 * mebibyte;
/**
 * The largest OTLP body after decompression that an operator may allow. A thread has 10 s for a body. The worst one of
 * this size takes 2.3 s, or 7 s while other processes use all processors.
 */
export const inflatedBodyBytesMax = 96 * mebibyte;
