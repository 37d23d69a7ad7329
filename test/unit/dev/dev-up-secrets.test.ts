import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadSecrets } from '../../../dev/up/secrets.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'promptlane-secrets-'));
  path = join(directory, 'secrets.json');
});

afterEach(() => rmSync(directory, { recursive: true }));

const stored = () => JSON.parse(readFileSync(path, 'utf8'));
const valid = {
  admin_key: 'a'.repeat(24),
  api_key_pepper: 'p'.repeat(24),
  jwt_secret: 'j'.repeat(32),
  api_key: 'pl_key',
};

describe('loadSecrets', () => {
  it('keeps what the environment gives for starts without it', () => {
    const given = { ADMIN_API_KEY: 'b'.repeat(24), API_KEY_PEPPER: 'q'.repeat(24), JWT_SECRET: 'k'.repeat(32) };
    loadSecrets(path, given);
    expect(loadSecrets(path, {})).toMatchObject({
      ...{ admin_key: given.ADMIN_API_KEY, api_key_pepper: given.API_KEY_PEPPER, jwt_secret: given.JWT_SECRET },
    });
  });

  it('keeps what is stored, but for the password of the database, which earlier versions let Postgres log', () => {
    writeFileSync(path, JSON.stringify({ ...valid, database_password: 'logged' }));
    const secrets = loadSecrets(path, {});
    expect(secrets).toEqual({ ...valid, database_password: expect.stringMatching(/^[\w-]{43}$/) });
    expect(stored()).toEqual(secrets);
  });

  it.each([
    ['admin_key', ['admin_key']],
    ['jwt_secret', ['jwt_secret']],
    // The stored key's hash depends on the pepper, so a new one is minted.
    ['api_key_pepper', ['api_key_pepper', 'api_key']],
  ])('of a file with a rejected %s replaces %j alone', (name, replaced) => {
    writeFileSync(path, JSON.stringify({ ...valid, [name]: 'tooshort' }));
    const secrets: Record<string, string | undefined> = { ...loadSecrets(path, {}) };
    const kept = Object.keys(valid).filter((key) => secrets[key] === valid[key as keyof typeof valid]);
    expect(kept).toEqual(Object.keys(valid).filter((key) => !replaced.includes(key)));
    expect(Object.values(secrets)).not.toContain('tooshort');
    expect(secrets[name]).toHaveLength(43);
  });
});
