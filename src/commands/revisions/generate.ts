import { exitCodes, UsageError } from '../../base/errors.ts';
import { readContent } from '../../cli/input/body.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { flag, requiredText } from '../../cli/kit/flags.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import type { BuilderRun, BuilderRunProgress } from '../../interface/types.ts';
import { builderRunOutput, followBuilderRun, reviewFlags, reviewOperations, reviewOptions } from './follow.ts';

export default defineCommand({
  summary: 'Ask for a change of a revision in words; a builder run proposes it',
  description:
    'Prints the builder run; with --watch what it asks and what it proposes, as a diff, and then asks whether to accept it. --answers, --accept and --decline include --watch. Without a terminal, the exit code is 12 and the message has the command that goes on.',
  arguments: { revision: revisionArgument },
  options: {
    agent: agentFlag,
    prompt: requiredText('TEXT|@FILE|-', 'What is to be changed; @FILE or - read it'),
    watch: flag('Watch the builder run and review its proposal', { aliases: ['follow'] }),
    ...reviewFlags,
  },
  operations: ['listAgents', 'listAgentRevisions', 'generateRevision', ...reviewOperations],
  mutates: true,
  exits: [exitCodes.runFailed, exitCodes.runInterrupted, exitCodes.runWaiting],
  examples: [
    { command: `aops revisions generate invoice-check@latest --prompt 'approve "Pay?" before step 3' --watch`, text: 'Ask, look, decide' },
    { command: 'aops revisions generate REVISION --prompt @request.txt --answers answers.yaml --accept', text: 'Without a person' },
  ],
  result: returns('getLatestBuilderRun'),
  output: builderRunOutput,
  async run(context, input): Promise<BuilderRun | BuilderRunProgress | undefined> {
    const follows = input.watch || input.answers !== undefined || input.accept || input.decline;
    if (!follows && input.onRequest !== undefined) throw new UsageError('--on-request goes with --watch.');
    const options = follows ? await reviewOptions(context, input) : undefined;
    const prompt = await readContent(context, input.prompt, length(1, 20_000), '--prompt');
    const client = await context.client();
    const build_id = await revisionId(context, input.revision, input.agent);
    const { generation } = await client.call('generateRevision', { params: { build_id }, body: { prompt } });
    if (options) return followBuilderRun(context, { buildId: build_id, builderRunId: generation.builder_run_id }, options);
    context.terminal.note(`Follow it with: aops revisions watch ${build_id}`);
    return client.call('getLatestBuilderRun', { params: { build_id } });
  },
});
