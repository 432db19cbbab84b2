/** What a run was started with, as far as the service still knows it. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { makeTemporaryFolder } from '../../../base/temporary-folder.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { uploadFiles } from '../../../cli/transfers/upload-paths.ts';
import type { Client } from '../../../client/client.ts';
import { NotOfferedError, ServiceAnswerError } from '../../../client/errors.ts';
import { LocalFolder } from '../../../client/transfers/local-files.ts';
import { openArchive } from '../../../client/transfers/pull-archive.ts';
import { pullTree } from '../../../client/transfers/pull-tree.ts';
import { listRunTree, parallelTransfers, type TreeFile, workspace } from '../../../client/transfers/run-files.ts';
import type { Body, Run, RunRepository } from '../../../interface/types.ts';
import { readRun } from '../read.ts';

/** Bytes that may be received in vain. */
const maxUselessBytes = 4 * 1_048_576;

export interface Original {
  run: Run;
  body: Body<'startRun'>;
  /** The files that have not changed since the run was started. */
  files: TreeFile[];
  /** Files that the run wrote or changed: their original content, if any, is not known. */
  newerFiles: string[];
  /** The size of these files in bytes. */
  newerBytes: number;
}

/**
 * Reads what a run was started with.
 * @throws AopsError `cannot_rerun` (exit 6) when the same start is not possible
 */
export async function readOriginal(client: Client, runId: string, withFiles: boolean, signal: AbortSignal): Promise<Original> {
  const run = await readRun(client, runId);
  if (run.agent_id === null) throw cannotRerun('its agent was deleted', 'Start a run of another agent with `aops runs start`.');
  if (run.source?.startsWith('case'))
    throw cannotRerun('it worked on a case', 'Let the agent work on the case again with `aops cases reprocess`.');
  const [message, repository] = await Promise.all([firstMessage(client, runId), repositoryOf(client, runId)]);
  const body = { agent_id: run.agent_id, ...omitUndefined({ message, repository: repository && sourceOf(repository) }) };
  // The files of a repository come from the repository.
  const tree = withFiles && repository === undefined ? await filesOf(client, runId, signal) : [];
  const isOriginal = ({ modifiedAt }: TreeFile): boolean =>
    modifiedAt !== undefined && run.created_at !== null && Date.parse(modifiedAt) <= Date.parse(run.created_at);
  const newerFiles = tree.filter((file) => !isOriginal(file));
  return {
    run,
    body,
    files: tree.filter(isOriginal),
    newerFiles: newerFiles.map((file) => path.posix.relative(workspace, file.path)),
    newerBytes: bytesOf(newerFiles),
  };
}

const bytesOf = (files: readonly TreeFile[]): number => files.reduce((sum, { size }) => sum + size, 0);

/** A message from the user is the message of the start only if nothing precedes it. */
async function firstMessage(client: Client, runId: string): Promise<string | undefined> {
  const { messages } = await client.call('listRunMessages', { params: { run_id: runId }, query: { limit: 1 } });
  const [first] = messages;
  return first?.role === 'user' && first.type === 'message' ? first.text_content : undefined;
}

/** The repository; undefined if the run has none, or the service does not offer repositories. */
async function repositoryOf(client: Client, runId: string): Promise<RunRepository | undefined> {
  try {
    return (await client.call('getRunChanges', { params: { run_id: runId } })).data.repository;
  } catch (error) {
    if (error instanceof NotOfferedError || (error instanceof ServiceAnswerError && error.code === 'changes_not_found')) return undefined;
    throw error;
  }
}

/** The same commit, even if the branch has moved on. */
function sourceOf({ kind, source, ref, commit }: RunRepository): NonNullable<Body<'startRun'>['repository']> {
  const revision = commit ?? ref;
  return { ...(kind === 'path' ? { path: source } : { url: source }), ...(revision === null ? {} : { ref: revision }) };
}

async function filesOf(client: Client, runId: string, signal: AbortSignal): Promise<TreeFile[]> {
  try {
    return (await listRunTree(client, { runId }, workspace, signal)).files;
  } catch (error) {
    if (!(error instanceof AopsError) || error.code !== 'sandbox_not_found') throw error;
    throw cannotRerun('its sandbox was removed, so its files cannot be copied', 'To start it without files, pass --no-files.');
  }
}

const cannotRerun = (reason: string, hint: string): AopsError =>
  new AopsError(`The run cannot be started again, because ${reason}.`, { code: 'cannot_rerun', exit: exitCodes.conflict, hint });

/**
 * Copies the original files into a new sandbox, and returns its ID. Many files are received as an archive, which also contains those that
 * the run wrote, unless they are larger.
 */
export async function copyFiles(context: Context, { run, files, newerBytes }: Original): Promise<string> {
  const client = await context.client();
  const usesArchive = files.length > parallelTransfers && newerBytes <= Math.max(bytesOf(files), maxUselessBytes);
  const archive = usesArchive ? await openArchive(client, { runId: run.id }, workspace, context.signal) : undefined;
  const folder = await makeTemporaryFolder('aops-rerun-');
  try {
    const { files: pulledFiles, skipped } = await pullTree(client, {
      run: { runId: run.id },
      files,
      ...(archive === undefined ? {} : { received: archive.received }),
      base: workspace,
      folder: new LocalFolder(folder),
      replace: false,
      signal: context.signal,
    });
    const [problem] = skipped;
    if (problem !== undefined)
      throw cannotRerun(
        `its file ${JSON.stringify(problem.name)} cannot be copied through this machine: ${problem.reason}`,
        'To start it without files, pass --no-files.',
      );
    const { sandbox_id } = await client.call('createSandbox', {});
    const uploads = pulledFiles.map(({ path: target, target: file, size }) => ({ file, size, target }));
    await uploadFiles(context, sandbox_id, uploads);
    return sandbox_id;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
