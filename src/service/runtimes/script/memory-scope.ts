/** Memory files as templates see them: a missing file is nil, because the first run of an agent does not find any. */
export const memoryScope = (files: ReadonlyMap<string, string>): Record<string, string | null> =>
  new Proxy<Record<string, string | null>>(Object.create(null) as Record<string, string | null>, {
    get: (_, path) => (typeof path === 'string' ? (files.get(path) ?? null) : undefined),
    has: (_, path) => typeof path === 'string',
    ownKeys: () => [...files.keys()],
    getOwnPropertyDescriptor: (_, path) =>
      typeof path === 'string'
        ? { value: files.get(path) ?? null, enumerable: files.has(path), configurable: true, writable: false }
        : undefined,
  });
