/** The item of a list at an index that is known to be in it. Throws RangeError when it is not: a fault of the caller. */
export function itemAt<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError(`There is no item ${index} in a list of ${list.length}`);
  return item;
}
