/** Error codes of Node's sockets and name look-ups. */
const networkCodes = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENFILE',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

/**
 * Returns whether an error code comes from a connection or a name look-up and not from the data
 * sent, so a retry can help.
 */
export function isNetworkCode(code: string): boolean {
  return networkCodes.has(code);
}
