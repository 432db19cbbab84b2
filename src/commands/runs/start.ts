import { exitCodes, UsageError } from '../../base/errors.ts';
import { followFlags, followOptions } from '../../cli/following/responder.ts';
import { readContent } from '../../cli/input/body.ts';
import { length, webAddress } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type CommandInput, flag, requiredText, text, texts } from '../../cli/kit/flags.ts';
import { recordOutput, status } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { collectFiles, uploadFiles } from '../../cli/transfers/upload-paths.ts';
import type { Run } from '../../interface/types.ts';
import { announce, followRun, resultOf } from './follow.ts';
import { checkPullFolder, pullResults } from './pull-results.ts';
import { repositoriesNotOffered, repositorySource, uncommittedNote } from './repository-source.ts';
import { contractNames } from './service-contract.ts';

const options = {
  agent: requiredText('ID|NAME', 'The agent to run', { complete: 'agents' }),
  message: text('TEXT', 'Message to the agent; @FILE reads it from a file, - from standard input'),
  sandbox: text('ID', 'Use the files of this sandbox', { check: length(1) }),
  upload: texts('PATH', 'Upload a file or folder for the run; can be repeated', { complete: 'files' }),
  repo: text('PATH|URL[#REF]', 'Work on a copy of this git repository, on a branch of its own', {
    complete: 'directories',
    check: length(1),
  }),
  webhookUrl: text('URL', 'Send the events of the run to this URL', { check: webAddress }),
  watch: flag('Watch the run to its end', { aliases: ['follow'] }),
  ...followFlags,
  pull: text('DIR', 'Download the files of the run into this folder when it has ended', { complete: 'directories' }),
  force: flag('Let --pull overwrite existing files'),
} as const;

export default defineCommand({
  summary: 'Start a run of an agent',
  description:
    'Prints the run; with --watch, prints its transcript and ends with the exit code of its outcome. --answers and --pull imply --watch. --pull needs a new or empty folder, so that existing files are detected before the run starts; with --force, they are overwritten.\n\n--repo gives the run a git repository: a folder of this machine, which stays unchanged, or an https URL. After # follows a branch, a tag, or a commit; by default, the run starts from the commit that is checked out. See what the run changed with `aops sandbox diff`, and bring it home with `aops sandbox apply`.',
  options,
  operations: [
    'listAgents',
    'createSandbox',
    'uploadSandboxFile',
    'createSandboxUploadUrl',
    'startRun',
    'getRun',
    'streamRunEvents',
    'listRunMessages',
    'respondToHumanRequest',
    'listRunSandboxFiles',
    'getRunSandboxFileContent',
  ],
  mutates: true,
  exits: [exitCodes.runFailed, exitCodes.runInterrupted, exitCodes.runWaiting],
  examples: [
    { command: "aops runs start --agent invoice-check --message 'March' --watch", text: 'Start a run, watch it and answer its requests' },
    {
      command: 'aops runs start --agent invoice-check --upload invoices.csv --answers answers.yaml --pull out',
      text: 'Run a complete job without a person',
    },
    { command: 'aops runs start --agent fixer --repo . --watch', text: 'Work on the repository in the current folder' },
    { command: 'RUN=$(aops runs start --agent invoice-check -o id)', text: 'Print only the ID, for a script' },
  ],
  result: returns('startRun.run'),
  output: recordOutput<Run>((run) => ({
    Number: run.run_number ?? undefined,
    ID: run.id,
    Status: status(run.status),
    Agent: run.agent_id,
    Sandbox: run.sandbox_id,
  })),
  async run(context, input) {
    const follows = input.watch || input.answers !== undefined || input.pull !== undefined;
    if (!follows && input.onRequest !== undefined) throw new UsageError('--on-request requires --watch.');
    if (input.force && input.pull === undefined) throw new UsageError('--force requires --pull.');
    if (input.pull !== undefined) checkPullFolder(context, input.pull, input.force);
    const follow = follows ? await followOptions(context, input) : undefined;
    const startedRun = await start(context, input);
    if (!follow) return startedRun;
    announce(context, startedRun);
    const run = await followRun(context, startedRun, follow);
    if (input.pull !== undefined) await pullResults(context, run, input.pull, input.force);
    return resultOf(context, run);
  },
});

/** Checks everything that can be checked, then uploads the files and starts the run. */
async function start(context: Context, input: CommandInput<Record<never, never>, typeof options>): Promise<Run> {
  const client = await context.client();
  const files = await collectFiles(context, input.upload);
  const message = input.message === undefined ? undefined : await readContent(context, input.message);
  const repository = input.repo === undefined ? undefined : await repositorySource(context, input.repo, client.baseUrl);
  // A service that does not know the field would ignore it.
  if (repository !== undefined && !(await contractNames(client, 'RunRepository'))) throw repositoriesNotOffered();
  const agent_id = await agentId(context, input.agent);
  let sandbox_id = input.sandbox;
  if (files.length > 0) {
    sandbox_id ??= (await client.call('createSandbox', {})).sandbox_id;
    await uploadFiles(context, sandbox_id, files);
  }
  const body = {
    agent_id,
    ...(message === undefined ? {} : { message }),
    ...(sandbox_id === undefined ? {} : { sandbox_id }),
    ...(repository === undefined ? {} : { repository }),
    ...(input.webhookUrl === undefined ? {} : { webhook_url: input.webhookUrl }),
  };
  const startedRun = await client.call('startRun', { params: { teamId: context.teamId() }, body });
  const note = startedRun.repository && uncommittedNote(startedRun.repository);
  if (note) context.terminal.note(note);
  return startedRun.run;
}
