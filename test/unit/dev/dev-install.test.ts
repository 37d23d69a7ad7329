import { describe, expect, it } from 'vitest';
import { nodeVersionFault, staleReason } from '../../../dev/install.mjs';

const lock = {
  packages: {
    '': { version: '0.1.0' },
    'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
    'node_modules/b-darwin': { version: '1.0.0', integrity: 'sha512-b', optional: true },
  },
};

describe('staleReason', () => {
  it('without an installation, says so', () => {
    expect(staleReason(lock, undefined)).toBe('nothing is installed yet');
  });

  it('with everything this platform needs, is undefined', () => {
    const packages = { 'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' } };
    expect(staleReason(lock, { packages })).toBeUndefined();
  });

  it('with a package missing, names it', () => {
    expect(staleReason(lock, { packages: {} })).toBe('node_modules/a is missing');
  });

  it.each([
    ['another version', { version: '1.0.1', integrity: 'sha512-a' }],
    ['another content', { version: '1.0.0', integrity: 'sha512-x' }],
  ])('with %s, names the package', (_, found) => {
    expect(staleReason(lock, { packages: { 'node_modules/a': found } })).toBe('node_modules/a has changed');
  });

  it('with an optional package of another version, names it', () => {
    const packages = { ...lock.packages, 'node_modules/b-darwin': { version: '0.9.0', integrity: 'sha512-b' } };
    expect(staleReason(lock, { packages })).toBe('node_modules/b-darwin has changed');
  });
});

describe('nodeVersionFault', () => {
  it.each(['20.19.0', '20.20.2', '22.0.0', '24.1.0'])('Node %s will do', (version) => {
    expect(nodeVersionFault(version)).toBeUndefined();
  });

  it.each(['20.18.3', '18.20.8', '16.0.0'])('Node %s is refused by name', (version) => {
    expect(nodeVersionFault(version)).toContain(`Node ${version} is too old`);
  });
});
