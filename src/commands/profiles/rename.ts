import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';

export default defineCommand({
  summary: 'Rename a profile',
  arguments: { from: argument('The profile', { complete: 'profiles' }), to: argument('The new name') },
  examples: [{ command: 'aops profiles rename default production', text: 'Rename a profile; its credential is kept' }],
  result: returns({ from: 'string', to: 'string' }),
  output: textOutput<{ from: string; to: string }>(({ from, to }) => `Renamed profile "${from}" to "${to}".`),
  async run(context, input) {
    await context.store.renameProfile(input.from, input.to);
    return { from: input.from, to: input.to };
  },
});
