/**
 * Returns the item of a list at an index that the caller knows to exist.
 * @throws RangeError when there is none, which is a fault of the caller
 */
export function itemAt<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError(`The list of ${list.length} items has no item ${index}`);
  return item;
}
