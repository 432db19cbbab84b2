/** What scripts in TypeScript use. */
export function table(rows: readonly (readonly string[])[]): string;
