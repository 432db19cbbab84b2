import { openTeamPage, webFlag } from '../../cli/desktop/team-page.ts';
import { describeRequest } from '../../cli/following/requests.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { runArgument } from '../../cli/names/run-names.ts';
import type { Run } from '../../interface/types.ts';
import { readRun } from './read.ts';
import { runRecord } from './record.ts';

export default defineCommand({
  summary: 'Show a run and its pending human request',
  arguments: { run: runArgument },
  options: webFlag,
  operations: ['getRun', 'createPageCode'],
  examples: [
    { command: 'aops runs get @latest', text: 'Show the newest run' },
    { command: 'aops runs get @latest --web', text: 'Open it in a browser' },
    { command: "aops runs get RUN --json --jq '.pending_human_request.title'", text: 'Print the title of the pending request' },
  ],
  result: returns('getRun.run'),
  output: recordOutput<Run>((run) => ({
    ...runRecord(run),
    Error: run.error ?? undefined,
    Waiting: run.pending_human_request ? describeRequest(run.pending_human_request) : undefined,
  })),
  async run(context, input) {
    const client = await context.client();
    const id = await runId(context, input.run);
    return input.web ? openTeamPage(context, `/runs/${id}`) : readRun(client, id);
  },
});
