const mebibyte = 1024 * 1024;

/** Bytes of request bodies of one workspace that a process holds at a time. So no body can be larger. */
export const workspaceBodyBytesMax = 48 * mebibyte;
/**
 * The largest OTLP body after decompression that an operator may allow. The threads that read bodies have 10 s and
 * 1.5 GiB, of which the worst bodies of this size use up to two thirds.
 */
export const inflatedBodyBytesMax = 128 * mebibyte;
