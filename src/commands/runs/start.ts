import { exitCodes, UsageError } from '../../base/errors.ts';
import { rowFormats } from '../../cli/bulk/rows.ts';
import { contractNames } from '../../cli/connect/service-contract.ts';
import { followFlags, followOptions } from '../../cli/following/responder.ts';
import { readContent } from '../../cli/input/body.ts';
import { length, webAddress } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type CommandInput, choice, flag, flagName, integer, text, texts } from '../../cli/kit/flags.ts';
import type { RowList } from '../../cli/kit/list.ts';
import { recordOutput, status } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentId } from '../../cli/names/resolve.ts';
import { Notifier, notifyFlags, requireWatch } from '../../cli/notifying/notifier.ts';
import { collectFiles, uploadFiles } from '../../cli/transfers/upload-paths.ts';
import type { Run } from '../../interface/types.ts';
import type { StartedRow } from './bulk/bulk-start.ts';
import type { FromFileInput, StartSummary } from './bulk/start-from-file.ts';
import { announce, followRun, resultOf } from './follow.ts';
import { checkPullFolder, pullResults } from './pull-results.ts';
import { repositoriesNotOffered, repositorySource, uncommittedNote } from './repository-source.ts';

const options = {
  agent: text('ID|NAME', 'The agent to run (default: the setting agent)', {
    complete: 'agents',
    pick: { unless: ['from'] },
    setting: 'agent',
  }),
  message: text(
    'TEXT',
    'Message to the agent; @FILE reads it from a file, - from standard input. With --from, a template over the columns',
  ),
  sandbox: text('ID', 'Use the files of this sandbox', { check: length(1) }),
  upload: texts('PATH', 'Upload a file or folder for the run; can be repeated', { complete: 'files' }),
  repo: text('PATH|URL[#REF]', 'Work on a copy of this git repository, on a branch of its own', {
    complete: 'directories',
    check: length(1),
  }),
  webhookUrl: text('URL', 'Send the events of the run to this URL', { check: webAddress }),
  watch: flag('Watch the run until it ends', { aliases: ['follow'] }),
  ...followFlags,
  ...notifyFlags,
  pull: text('DIR', 'Download the files of the run into this folder when it has ended', { complete: 'directories' }),
  force: flag('Let --pull overwrite existing files'),
  from: text('FILE|-', 'Start a run for every row of a CSV, JSON, or NDJSON file, or of standard input', { complete: 'files' }),
  fromFormat: choice(rowFormats, 'The format of --from, if its extension does not determine it'),
  concurrency: integer('N', 'Requests of --from at the same time (default: 4)', { minimum: 1, maximum: 32 }),
  failed: text('FILE', 'Where --from writes rows that failed, in the format of the input (default: next to it)', { complete: 'files' }),
  ledger: text('FILE', 'Where --from records its progress (default: next to the input)', { complete: 'files' }),
} as const;

export default defineCommand({
  summary: 'Start a run of an agent',
  description:
    'Prints the run; with --watch, prints its transcript, and ends with the exit code of its outcome. --answers and --pull imply --watch. --pull needs a new or empty folder, so that existing files are detected before the run starts; with --force, they are overwritten.\n\n--repo gives the run a git repository: a folder of this machine, which stays unchanged, or an https URL. After # follows a branch, a tag, or a commit; by default, the run starts from the commit that is checked out. See what the run changed with `aops sandbox diff`, and apply that to your own repository with `aops sandbox apply`.\n\n--from starts a run for every row of a CSV file (the first line names the columns), or of JSON or NDJSON. --message is then a template: {{ column }} is replaced with the value of that column, and unknown columns are reported before anything starts. Columns named agent and message replace the flags for rows where they are not empty, and upload names more files, separated by semicolons. Progress is recorded in FILE.aops-ledger: after an interruption, run the same command again to continue. No row is started twice. Rows that the service rejects are written with the reason to a file with .failed in its name, and the command ends with exit 2. -o id and -o ndjson print each run as it starts, after those of earlier attempts; other formats print file, rows, started, started_before, failed, failed_file, ledger, and runs at the end.',
  options,
  operations: [
    'listAgents',
    'createSandbox',
    'uploadSandboxArchive',
    'uploadSandboxFile',
    'createSandboxUploadUrl',
    'startRun',
    'getRun',
    'streamRunEvents',
    'listRunMessages',
    'respondToHumanRequest',
    'listRunSandboxFiles',
    'getRunSandboxArchive',
    'getRunSandboxFileContent',
  ],
  mutates: true,
  exits: [exitCodes.runFailed, exitCodes.runInterrupted, exitCodes.runWaiting],
  examples: [
    { command: "aops runs start --agent invoice-check --message 'March' --watch", text: 'Start a run, watch it, and answer its requests' },
    {
      command: 'aops runs start --agent invoice-check --upload invoices.csv --answers answers.yaml --pull out',
      text: 'Run a complete job without a person',
    },
    { command: 'aops runs start --agent fixer --repo . --watch', text: 'Work on the repository in the current folder' },
    {
      command: "aops runs start --agent invoice-check --from invoices.csv --message 'Check {{ number }} of {{ vendor }}'",
      text: 'Start a run for every row of a file',
    },
    { command: 'RUN=$(aops runs start --agent invoice-check -o id)', text: 'Print only the ID, for a script' },
  ],
  result: returns('startRun.run'),
  // With --from.
  otherResults: [
    returns({ row: 'integer' }),
    returns({
      file: 'string',
      rows: 'integer',
      started: 'integer',
      started_before: 'integer',
      failed: 'integer',
      failed_file: 'string|null',
      ledger: 'string|null',
      runs: 'object[]',
    }),
  ],
  output: recordOutput<Run | StartSummary | RowList<StartedRow>>((result) =>
    'rows' in result ? summaryFields(result) : runFields(result as Run),
  ),
  async run(context, input) {
    if (input.from !== undefined) return startMany(context, { ...input, from: input.from });
    refuseFlags(input, bulkFlags, (flags) => `${flags} requires --from.`);
    const follows = input.watch || input.answers !== undefined || input.pull !== undefined;
    if (!follows && input.onRequest !== undefined) throw new UsageError('--on-request requires --watch.');
    if (!follows) requireWatch(input);
    if (input.force && input.pull === undefined) throw new UsageError('--force requires --pull.');
    if (input.pull !== undefined) checkPullFolder(context, input.pull, input.force);
    const follow = follows ? await followOptions(context, input, 'run_id') : undefined;
    const startedRun = await start(context, input);
    if (!follow) return startedRun;
    announce(context, startedRun);
    const run = await followRun(context, startedRun, follow, new Notifier(context, input));
    if (input.pull !== undefined) await pullResults(context, run, input.pull, input.force);
    return resultOf(context, run);
  },
});

const runFields = (run: Run) => ({
  Number: run.run_number ?? undefined,
  ID: run.id,
  Status: status(run.status),
  Agent: run.agent_id,
  Sandbox: run.sandbox_id,
});

const summaryFields = (summary: StartSummary) => ({
  File: summary.file,
  Rows: summary.rows,
  Started: summary.started,
  'Started before': summary.started_before === 0 ? undefined : summary.started_before,
  Failed: summary.failed === 0 ? undefined : summary.failed,
  'Failed rows': summary.failed_file ?? undefined,
  Ledger: summary.ledger ?? undefined,
});

type StartInput = CommandInput<Record<never, never>, typeof options>;

const bulkFlags = ['fromFormat', 'concurrency', 'failed', 'ledger'] as const;
const singleFlags = ['sandbox', 'watch', 'onRequest', 'answers', 'pull', 'force'] as const;

/** @throws UsageError when one of the flags was passed */
function refuseFlags(input: StartInput, flags: readonly (keyof StartInput)[], message: (flag: string) => string, hint?: string): void {
  const passedFlag = flags.find((key) => input[key] !== undefined && input[key] !== false);
  if (passedFlag !== undefined) throw new UsageError(message(flagName(passedFlag)), hint);
}

/** A run for every row of a file. */
async function startMany(context: Context, input: StartInput & FromFileInput) {
  refuseFlags(
    input,
    singleFlags,
    (flag) => `${flag} cannot be combined with --from.`,
    'Every run has its own sandbox. To wait for the runs: aops runs start --from FILE -o id | xargs aops runs wait',
  );
  if (context.flags.idempotencyKey !== undefined)
    throw new UsageError('--idempotency-key cannot be combined with --from: every row has its own key.');
  const { startFromFile } = await import('./bulk/start-from-file.ts');
  return startFromFile(context, input);
}

/** Checks everything that can be checked, then uploads the files and starts the run. */
async function start(context: Context, input: StartInput): Promise<Run> {
  const client = await context.client();
  const files = await collectFiles(context, input.upload);
  const message = input.message === undefined ? undefined : await readContent(context, input.message, length(1), '--message');
  const repository = input.repo === undefined ? undefined : await repositorySource(context, input.repo, client.baseUrl);
  // A service that does not know the field would ignore it.
  if (repository !== undefined && !(await contractNames(client, 'RunRepository'))) throw repositoriesNotOffered();
  const agent_id = await agentId(context, input.agent as string);
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
