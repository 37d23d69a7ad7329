/** Of Node's sockets and name look-ups. */
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

/** Whether the error with this code came of a connection or a look-up, not of what was sent: it may pass. */
export function isNetworkCode(code: string): boolean {
  return networkCodes.has(code);
}
