import { describe, expect, test } from 'vitest';
import { mintFeedbackToken, readFeedbackToken } from '../../../src/domains/auth/feedback-token.ts';

const pepper = 'pepper of the test';
const grant = { projectId: 'prj_1', traceId: 'a'.repeat(32), expiresAtS: 2_000 };
const nowMs = 1_999_999;

describe('a feedback token', () => {
  const token = mintFeedbackToken(pepper, grant);

  test('is read until it expires', () => {
    expect(readFeedbackToken(pepper, token, nowMs)).toEqual(grant);
    expect(readFeedbackToken(pepper, token, 2_000_000)).toBeUndefined();
  });

  test('is refused with any one character changed, with more, and with fewer', () => {
    for (let at = 0; at < token.length; at++) {
      const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
      expect(readFeedbackToken(pepper, changed, nowMs), String(at)).toBeUndefined();
    }
    const others = [`${token}A`, token.slice(0, -1), `${token}=`, ` ${token}`, 'fbt_', '', `fbt_${'A'.repeat(600)}`];
    for (const other of others) expect(readFeedbackToken(pepper, other, nowMs)).toBeUndefined();
  });

  test('is refused with another pepper', () => {
    expect(readFeedbackToken('another', token, nowMs)).toBeUndefined();
  });
});
