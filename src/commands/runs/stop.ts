import { defineCommand } from '../../cli/kit/command.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import { pickedRunArgument } from '../../cli/names/run-names.ts';

export default defineCommand({
  summary: 'Stop a run',
  description: 'If the run has already ended, nothing changes and the command succeeds. A later message resumes a stopped run.',
  arguments: { run: pickedRunArgument({ runs: 'active', needsCare: true }) },
  operations: ['stopRun'],
  mutates: true,
  examples: [{ command: 'aops runs stop @latest', text: 'Stop the newest run' }],
  result: returns('stopRun', { id: 'uuid' }),
  output: textOutput<{ id: string; success: boolean; message?: string }>((result) => result.message ?? `Stopped ${result.id}.`),
  async run(context, input) {
    const client = await context.client();
    const id = await runId(context, input.run);
    return { id, ...(await client.call('stopRun', { params: { run_id: id } })) };
  },
});
