import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Bag } from '../../../src/runtime/bag.ts';

test('a bag holds what was added and not yet taken out, in whatever order that happens', () => {
  const steps = fc.array(fc.oneof(fc.constant('add' as const), fc.nat(20)), { maxLength: 100 });
  fc.assert(
    fc.property(steps, (given) => {
      const bag = new Bag<number>();
      const inside: { item: number; takeOut: () => void }[] = [];
      given.forEach((step, item) => {
        if (step === 'add') inside.push({ item, takeOut: bag.add(item) });
        else for (const { takeOut } of inside.splice(step, 1)) takeOut();
        expect(bag.items().toSorted()).toEqual(inside.map((each) => each.item).toSorted());
      });
    }),
  );
});

test('the same item added twice is there twice, and leaves once at a time', () => {
  const bag = new Bag<string>();
  const takeOut = bag.add('a');
  bag.add('a');
  takeOut();
  expect(bag.items()).toEqual(['a']);
});
