/** Error codes of Node's sockets and name look-ups. */
const networkCodes = new Set([
  'EADDRNOTAVAIL', // The machine has no port for a connection.
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
  'ENOBUFS',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

/** Codes of Node's parser of HTTP: something between the programs, or a program that ends, wrote no proper answer. */
const parserCodes = /^HPE_/;

/**
 * Returns whether an error code comes from a connection or a name look-up and not from the data
 * sent, so a retry can help.
 */
export function isNetworkCode(code: string): boolean {
  return networkCodes.has(code) || parserCodes.test(code);
}
