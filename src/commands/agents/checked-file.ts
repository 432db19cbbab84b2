/** Tells files from agents, and procedures from definitions of programs. */
import { isObject } from '../../base/values.ts';

/** Whether an argument is a file: standard input, a path, or a name with the extension of a procedure. */
export const isFile = (target: string): boolean => target === '-' || /[\\/]/.test(target) || /\.(ya?ml|json)$/i.test(target);

/** The runtime that a procedure is probably written for. */
export async function runtimeOfFile(procedure: string): Promise<'acp' | 'script'> {
  const { parse } = await import('yaml');
  try {
    const value: unknown = parse(procedure, { logLevel: 'silent' });
    return isObject(value) && !('steps' in value) && ('acp' in value || 'command' in value) ? 'acp' : 'script';
  } catch {
    // Its errors are reported with their lines by the service.
    return 'script';
  }
}
