import { getSystemErrorMap } from 'node:util';

/**
 * Why a thread could not be started. Node has the system's error only in the message: its code, or with Node 26 its text if a
 * `package.json` above the file of the thread could not be read.
 */
export function startFailure(error: Error): Error {
  const reason = /: ([^:]+?)\.?$/.exec(error.message)?.[1];
  const code = [...getSystemErrorMap().values()].find(([name, text]) => name === reason || text === reason)?.[0];
  return code === undefined ? error : Object.assign(new Error(error.message, { cause: error }), { code });
}
