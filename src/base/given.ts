/** Optional values: what was not given is left out, so that nobody takes `undefined` for a value. */

export type Given<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** The same object without the properties that are undefined. */
export const given = <T extends object>(values: T): Given<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<T>;
