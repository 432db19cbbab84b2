import { defineCommand } from '../../cli/kit/command.ts';
import { column, idColumn, listOutput, oneOrSeveralOutput, textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { resolveRuns } from '../../cli/names/resolve-run.ts';
import { type NamedRun, runsArgument } from '../../cli/names/run-names.ts';
import { forEachRun, rowsOf } from './each-run.ts';

interface Stopped {
  id: string;
  success: boolean;
  message?: string;
}

export default defineCommand({
  summary: 'Stop runs',
  description:
    'If a run has already ended, nothing changes, and the command succeeds. A later message resumes a stopped run. If one of several runs cannot be stopped, the others are stopped nevertheless; the exit code is that of the worst failure. For several runs, the JSON is a list.',
  arguments: { run: runsArgument({ runs: 'active', needsCare: true }) },
  operations: ['listRuns', 'stopRun'],
  mutates: true,
  examples: [
    { command: 'aops runs stop @latest', text: 'Stop the newest run' },
    { command: 'aops runs stop 17 18', text: 'Stop several runs' },
    {
      command: 'aops runs list --agent invoice-check --status running -o id | xargs aops runs stop',
      text: 'Stop the running runs of an agent',
    },
  ],
  result: returns('stopRun', { id: 'uuid' }),
  // For several runs.
  otherResults: [returns({ error: 'object?' })],
  output: oneOrSeveralOutput(
    textOutput<Stopped>((result) => result.message ?? `Stopped ${result.id}.`),
    listOutput<Stopped>({
      columns: [
        idColumn((stopped) => stopped.id),
        column('STOPPED', ({ success }) => success),
        column('MESSAGE', ({ message }) => message, { shrink: true }),
      ],
      empty: 'There are no runs to stop.',
    }),
  ),
  async run(context, input) {
    const client = await context.client();
    const runs = await resolveRuns(context, input.run);
    const requestOf = ({ id }: NamedRun) => ({ params: { run_id: id } });
    const [onlyRun, ...otherRuns] = runs;
    if (onlyRun !== undefined && otherRuns.length === 0) return { id: onlyRun.id, ...(await client.call('stopRun', requestOf(onlyRun))) };
    // Reserved in order, so that the same command with the same key sends the same keys.
    const keys = new Map(runs.map((run) => [run, client.keysFor('stopRun', requestOf(run))]));
    const attempts = await forEachRun(context, runs, (run) => client.call('stopRun', requestOf(run), { keys: keys.get(run) }));
    return rowsOf(context, attempts, ({ id }, result) => ({ id, success: result?.success ?? false, ...result }), 'could not be stopped');
  },
});
