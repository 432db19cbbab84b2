/** Taking a run's files home. */
import path from 'node:path';
import { ServiceAnswerError } from '../../client/errors.ts';
import { prepareTarget, writeFile } from '../../client/local-files.ts';
import { readRunFile, runFileBytes, walkRunFiles, workspace } from '../../client/run-files.ts';
import type { Context } from '../context.ts';

export interface PulledFile {
  /** Path in the sandbox. */
  path: string;
  /** Where it was written, relative to the current folder where that is shorter. */
  file: string;
  size: number;
}

/**
 * Downloads a file, or a folder with everything in it, into a local folder.
 * @throws UsageError when a file is there already and `force` is false; files written before stay
 */
export async function pullFiles(
  context: Context,
  runId: string,
  from: string | undefined,
  to: string,
  force: boolean,
): Promise<PulledFile[]> {
  const client = await context.client();
  const folder = path.resolve(context.cwd, to);
  const start = path.posix.resolve(workspace, from ?? '.');
  const pulled: PulledFile[] = [];
  const pull = async (file: string, base: string): Promise<void> => {
    const content = await readRunFile(client, runId, file, context.signal);
    const target = await prepareTarget(folder, path.posix.relative(base, file));
    const size = await writeFile(target, runFileBytes(client, content, context.signal), force);
    pulled.push({ path: file, file: path.relative(context.cwd, target) || target, size });
  };
  try {
    for await (const entry of walkRunFiles(client, runId, start, context.signal)) if (entry.type === 'file') await pull(entry.path, start);
  } catch (error) {
    // Listing a file says that it is no folder: then it is the one to pull.
    if (!(error instanceof ServiceAnswerError) || error.code !== 'not_a_directory') throw error;
    await pull(start, path.posix.dirname(start));
  }
  return pulled;
}
