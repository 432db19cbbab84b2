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
  summary: 'Ask for a change to a revision in words',
  description:
    'Starts a builder run that proposes the change, and prints it. With --watch, its questions and its proposal, as a diff, are displayed, and you can accept or decline it. --answers, --accept, and --decline imply --watch. If a decision is missing and there is no terminal, the exit code is 12 and the message contains the command to continue.',
  arguments: { revision: revisionArgument },
  options: {
    agent: agentFlag,
    prompt: requiredText('TEXT|@FILE|-', 'The change to make; @FILE reads it from a file, - from standard input'),
    watch: flag('Watch the builder run and review its proposal', { aliases: ['follow'] }),
    ...reviewFlags,
  },
  operations: ['listAgents', 'listAgentRevisions', 'generateRevision', ...reviewOperations],
  mutates: true,
  exits: [exitCodes.runFailed, exitCodes.runInterrupted, exitCodes.runWaiting],
  examples: [
    {
      command: `aops revisions generate invoice-check@latest --prompt 'approve "Pay?" before step 3' --watch`,
      text: 'Ask for a change, review it, and decide',
    },
    {
      command: 'aops revisions generate REVISION --prompt @request.txt --answers answers.yaml --accept',
      text: 'Accept a change without a person',
    },
  ],
  result: returns('getLatestBuilderRun'),
  output: builderRunOutput,
  async run(context, input): Promise<BuilderRun | BuilderRunProgress | undefined> {
    const follows = input.watch || input.answers !== undefined || input.accept || input.decline;
    if (!follows && input.onRequest !== undefined) throw new UsageError('--on-request requires --watch.');
    const options = follows ? await reviewOptions(context, input) : undefined;
    const prompt = await readContent(context, input.prompt, length(1, 20_000), '--prompt');
    const client = await context.client();
    const build_id = await revisionId(context, input.revision, input.agent);
    const { generation } = await client.call('generateRevision', { params: { build_id }, body: { prompt } });
    if (options) return followBuilderRun(context, { buildId: build_id, builderRunId: generation.builder_run_id }, options);
    context.terminal.advise(`Watch it with: aops revisions watch ${build_id}`);
    return client.call('getLatestBuilderRun', { params: { build_id } });
  },
});
