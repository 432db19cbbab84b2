/** The environment for programs that tests start. */
import process from 'node:process';

/**
 * The environment of the tests without variables of aops, options of Node, and colours. Node reads additional certificates (NODE_EXTRA_CA_CERTS) at
 * every start, which doubles the time that a process needs to start.
 */
export const cleanEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !/^(NODE_|AOPS_|(NO_COLOR|FORCE_COLOR|CI)$)/.test(entry[0]),
    ),
  );
