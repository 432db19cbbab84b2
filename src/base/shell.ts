/** Words of commands that a person is to paste. */

/** Quoted for a POSIX shell. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
