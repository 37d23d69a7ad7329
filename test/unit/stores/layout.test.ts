import { describe, expect, test } from 'vitest';
import { requireKnownLayout, UnknownLayoutError } from '../../../src/stores/layout.ts';

const known = ['0001_a', '0002_b'];

function explanation(ran: readonly string[]): string {
  try {
    requireKnownLayout({ store: 'Postgres', ran, known });
  } catch (error) {
    if (error instanceof UnknownLayoutError) return error.explain('run: empty it');
    throw error;
  }
  return 'taken';
}

describe('a store', () => {
  test.each([[[]], [['0001_a']], [known]])('that ran %j of the migrations of this version is taken', (ran) => {
    expect(explanation(ran)).toBe('taken');
  });

  test('that lacks a migration of this version and ran others is to be emptied', () => {
    expect(explanation(['0001_x', '0002_y', '0003_z', '0004_z'])).toBe(
      'Postgres has the tables of an unreleased version, which no release can read: it ran 0001_x, 0002_y and 2 more, ' +
        'which this version does not have. To start over without its data, run: empty it',
    );
    expect(explanation(['0001_a', '0002_y'])).toMatch(/it ran 0002_y, which .* run: empty it$/);
  });

  test('that ran all migrations of this version and more is of a newer version, and nobody is told to empty it', () => {
    expect(explanation([...known, '0003_c'])).toBe(
      'Postgres has the tables of a newer version: it ran 0003_c, which this version does not have. Run that version',
    );
  });
});
