import { describe, expect, test } from 'vitest';
import { type BodyHold, BodyIntake } from '../../../src/http/body-intake.ts';
import { RateLimitedError, UnavailableError } from '../../../src/lib/errors.ts';

const mebibyte = 1024 * 1024;

const openMany = (intake: BodyIntake, sharer: string, count: number): BodyHold[] =>
  Array.from({ length: count }, () => intake.open(sharer));

/** Bodies of several workspaces, so many of each. */
const openOfEach = (intake: BodyIntake, sharers: number, count: number): BodyHold[] =>
  Array.from({ length: sharers }, (_, index) => openMany(intake, `busy ${index}`, count)).flat();

/** What an attempt is refused with. */
function refusal(attempt: () => unknown): unknown {
  try {
    attempt();
  } catch (error) {
    return error;
  }
  expect.unreachable('It was not refused');
}

function expectOwnDoing(error: unknown): void {
  expect(error).toBeInstanceOf(RateLimitedError);
  expect(error).toMatchObject({ code: 'workspace_busy', retryAfterS: 1 });
}

function expectNobodysDoing(error: unknown): void {
  expect(error).toBeInstanceOf(UnavailableError);
  expect(error).toMatchObject({ code: 'server_busy', retryAfterS: 1 });
}

describe('bodies on their way', () => {
  test('the 513th of one workspace is refused as its own doing, and another workspace still begins one', () => {
    const intake = new BodyIntake();
    openMany(intake, 'busy', 512);
    expectOwnDoing(refusal(() => intake.open('busy')));
    intake.open('other').take(1);
    expect(intake.bytes).toBe(1);
  });

  test('the 4,097th of all workspaces is refused as nobody’s doing', () => {
    const intake = new BodyIntake();
    const holds = openOfEach(intake, 8, 512);
    expectNobodysDoing(refusal(() => intake.open('other')));
    holds[0]?.release();
    intake.open('other');
    expectNobodysDoing(refusal(() => intake.open('busy 0')));
  });

  test('one that is there as a whole gives its place to the next, while its bytes still count', () => {
    const intake = new BodyIntake();
    const [first] = openMany(intake, 'busy', 512);
    first?.take(48 * mebibyte);
    first?.arrived();
    first?.arrived();
    const next = intake.open('busy');
    expectOwnDoing(refusal(() => intake.open('busy')));
    expectOwnDoing(refusal(() => next.take(1)));
  });
});

describe('callers without credentials', () => {
  test('have 128 bodies of an address and 1,024 in all on their way, and a workspace still begins one', () => {
    const intake = new BodyIntake();
    for (let address = 0; address < 8; address++) {
      for (let body = 0; body < 128; body++) intake.open(`address ${address}`, true);
    }
    expectOwnDoing(refusal(() => intake.open('address 0', true)));
    expectNobodysDoing(refusal(() => intake.open('address 8', true)));
    intake.open('a workspace').take(1);
  });

  test('have 4 MiB of an address and 32 MiB in all, which they get back', () => {
    const intake = new BodyIntake();
    const holds = Array.from({ length: 8 }, (_, address) => intake.open(`address ${address}`, true));
    for (const hold of holds) hold.take(4 * mebibyte);
    expectOwnDoing(refusal(() => holds[0]?.take(1)));
    const other = intake.open('address 8', true);
    expectNobodysDoing(refusal(() => other.take(1)));
    holds[0]?.release();
    other.take(1);
  });
});

describe('bytes of bodies', () => {
  test('beyond 48 MiB of one workspace are refused as its own doing, and another workspace still sends', () => {
    const intake = new BodyIntake();
    const [first, second] = openMany(intake, 'busy', 2);
    first?.take(30 * mebibyte);
    second?.take(18 * mebibyte);
    expectOwnDoing(refusal(() => second?.take(1)));
    intake.open('other').take(40 * mebibyte);
    expect(intake.bytes).toBe(88 * mebibyte);
  });

  test('of three workspaces that send as much as they can leave room for small bodies of others', () => {
    const intake = new BodyIntake();
    for (const hold of openOfEach(intake, 3, 1)) {
      for (let taken = 0; taken < 48; taken++) {
        try {
          hold.take(mebibyte);
        } catch {
          break;
        }
      }
    }
    expect(intake.bytes).toBeGreaterThan(100 * mebibyte);
    for (let other = 0; other < 5; other++) intake.open(`other ${other}`).take(mebibyte);
  });

  test('beyond 128 MiB of all workspaces are refused as nobody’s doing', () => {
    const intake = new BodyIntake();
    for (const hold of openOfEach(intake, 4, 1)) hold.take(32 * mebibyte);
    expectNobodysDoing(refusal(() => intake.open('busy 0').take(1)));
    expectNobodysDoing(refusal(() => intake.open('other').take(1)));
    expect(intake.bytes).toBe(128 * mebibyte);
  });

  test('that were refused do not count, and what fits is taken afterwards', () => {
    const intake = new BodyIntake();
    const hold = intake.open('busy');
    expectOwnDoing(refusal(() => hold.take(48 * mebibyte + 1)));
    hold.take(48 * mebibyte);
    expect([hold.bytes, intake.bytes]).toEqual([48 * mebibyte, 48 * mebibyte]);
  });
});

describe('a request that is over', () => {
  test('gives back its place and its bytes, once however often it says so', () => {
    const intake = new BodyIntake();
    const [first, second] = openMany(intake, 'busy', 512);
    first?.take(20 * mebibyte);
    second?.take(28 * mebibyte);
    first?.release();
    first?.release();
    first?.arrived();
    expect(intake.bytes).toBe(28 * mebibyte);
    const next = intake.open('busy');
    expectOwnDoing(refusal(() => intake.open('busy')));
    next.take(20 * mebibyte);
    expectOwnDoing(refusal(() => next.take(1)));
  });

  test('takes no more bytes', () => {
    const intake = new BodyIntake();
    const hold = intake.open('busy');
    hold.release();
    expect(() => hold.take(1)).toThrow('has ended');
    expect(intake.bytes).toBe(0);
  });

  test('was the last of its workspace: the next one has all of its share again', () => {
    const intake = new BodyIntake();
    for (let time = 0; time < 3; time++) {
      const holds = openMany(intake, 'busy', 512);
      holds[0]?.take(48 * mebibyte);
      for (const hold of holds) hold.release();
    }
    expect(intake.bytes).toBe(0);
  });
});
