/** The data directory of a service that was stopped: it has something of everything, and its runs are in different states. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { temporaryFolder } from '../../support/temporary.ts';
import { fillable, withEverything } from '../helpers/everything.ts';
import { type Api, config } from '../helpers/service.ts';

export interface PopulatedData {
  directory: string;
  /** A run that asks for a colour, and then writes `answer.md`. */
  waitingRun: string;
  /** A run with a screenshot. */
  pictureRun: string;
  fileId: string;
  /** The sandbox of the waiting run. */
  sandbox: string;
  token: string;
}

const procedure = `version: 1
steps:
  - write: { path: notes/today.md, content: "Größe: {{ message }}" }
  - ask: { id: colour, questions: [{ question: Which colour? }] }
  - write: { path: answer.md, content: "{{ answers.colour }}" }
  - say: done
`;

/** A service on populated data, or on a database into which it was imported. */
export const servicePopulated = (options: Parameters<typeof fillable>[0]): Promise<Api> => fillable(options);

/** Call it before all tests of a file. */
export async function populatedData(): Promise<PopulatedData> {
  const directory = path.join(await temporaryFolder(), 'data');
  const api = await fillable({ dataDirectory: directory });
  const ids = await withEverything(api);
  const { agent } = await api.ok('createAgent', { body: { name: 'painter', build: { name: 'b', config: config(procedure, 'script') } } });
  const { run } = await api.ok('startRun', { body: { agent_id: agent.id, message: 'XL' } });
  await api.until(run.id, 'waiting');
  const { run: completedRun } = await api.ok('startRun', { body: { agent_id: agent.id, message: 'S' } });
  const { pending_human_request } = await waiting(api, completedRun.id);
  await api.ok('respondToHumanRequest', {
    params: { run_id: completedRun.id, request_id: pending_human_request?.id as string },
    body: { answers: { 'Which colour?': 'red' } },
  });
  await api.until(completedRun.id, 'completed');
  const { token } = api.service;
  await api.service.close();
  const sandbox = run.sandbox_id as string;
  await addFiles(path.join(directory, 'sandboxes', sandbox));
  return { directory, waitingRun: run.id, pictureRun: ids.run_id as string, fileId: ids.file_id as string, sandbox, token };
}

export async function waiting(api: Api, runId: string) {
  await api.until(runId, 'waiting');
  return api.ok('getRun', { params: { run_id: runId } });
}

/** What programs of a run may have left behind. */
async function addFiles(home: string): Promise<void> {
  const workspace = path.join(home, 'workspace');
  await mkdir(path.join(workspace, 'empty folder'), { mode: 0o755 });
  await mkdir(path.join(home, 'home/.agent'), { recursive: true });
  await mkdir(path.join(home, 'home/.cache'), { recursive: true });
  await writeFile(path.join(home, 'home/.cache/again'), 'created again');
  await writeFile(path.join(home, 'home/.agent/session.json'), '{"turns":2}');
  await writeFile(path.join(workspace, 'run.sh'), '#!/bin/sh\n');
  await chmod(path.join(workspace, 'run.sh'), 0o755);
  await writeFile(path.join(workspace, 'empty.txt'), '');
  // Larger than what is stored together, and larger than what is read into memory.
  await writeFile(path.join(workspace, 'large.bin'), randomBytes(200_000));
  await writeFile(path.join(workspace, 'huge.bin'), randomBytes(9 * 1_048_576));
  await writeFile(path.join(workspace, `${'long '.repeat(30)}name\n\u2028.txt`), 'a name');
  await symlink('notes/today.md', path.join(workspace, 'link'));
  await symlink('/etc/passwd', path.join(workspace, 'outside'));
  await utimes(path.join(workspace, 'empty.txt'), 1_700_000_000.75, 1_700_000_000.75);
  await mkdir(path.join(workspace, 'sealed'));
  await writeFile(path.join(workspace, 'sealed/old.txt'), 'old');
  await chmod(path.join(workspace, 'sealed'), 0o555);
}
