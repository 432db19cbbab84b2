import { exitCodes } from '../../base/errors.ts';
import { readBeforeWatching } from '../../cli/following/outage.ts';
import { resumeFlag } from '../../cli/following/resume-source.ts';
import { openResumption } from '../../cli/following/resumption.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { returns } from '../../cli/kit/result.ts';
import { agentFlag, revisionArgument, revisionId } from '../../cli/names/revision.ts';
import { foreignToken, pointOf } from '../../watch/resume/token.ts';
import { builderRunOutput, followBuilderRun, reviewFlags, reviewOperations, reviewOptions } from './follow.ts';

export default defineCommand({
  summary: 'Watch the latest builder run, answer it, and review its proposal',
  description: 'Continues where `generate --watch` was interrupted. Ctrl-C detaches; the builder run continues.',
  arguments: { revision: revisionArgument },
  options: { agent: agentFlag, ...reviewFlags, resume: resumeFlag },
  operations: ['listAgents', 'listAgentRevisions', ...reviewOperations],
  exits: [exitCodes.conflict, exitCodes.runFailed, exitCodes.runInterrupted, exitCodes.runWaiting],
  examples: [
    { command: 'aops revisions watch invoice-check@latest', text: 'Watch the builder run and review its proposal' },
    { command: 'aops revisions watch REVISION -o ndjson', text: 'Print every event as one JSON object per line' },
    { command: 'aops revisions watch REVISION -o ndjson --resume auto', text: 'Continue after the last event that was printed' },
  ],
  result: returns('getLatestBuilderRun'),
  output: builderRunOutput,
  async run(context, input) {
    const options = await reviewOptions(context, input);
    const ids = await readBeforeWatching(context, async (reading) => {
      const buildId = await revisionId(reading, input.revision, input.agent);
      const client = await reading.client();
      const { id } = await client.call('getLatestBuilderRun', { params: { build_id: buildId } });
      return { buildId, builderRunId: id };
    });
    const resumption = await openResumption(context, input.resume, { stream: 'builder_run', id: ids.builderRunId }, (token) => {
      const point = pointOf(token, 'builder_run', `revision ${ids.buildId}`);
      if (point.buildId !== ids.buildId) throw foreignToken(point, `revision ${ids.buildId}`);
      return point;
    });
    // A token can belong to a builder run that another one has replaced.
    const builderRunId = resumption.point?.builderRunId ?? ids.builderRunId;
    return followBuilderRun(context, { ...ids, builderRunId }, options, resumption).finally(() => resumption.positions?.close());
  },
});
