/** Programs on this machine. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';

/** Whether a path is a file that may be executed. */
export async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
