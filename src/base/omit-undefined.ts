/** Optional values: a property that is undefined is left out, so that no later reader takes `undefined` for a value. */

export type WithoutUndefined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** The same object without the properties that are undefined. */
export const omitUndefined = <T extends object>(values: T): WithoutUndefined<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as WithoutUndefined<T>;
