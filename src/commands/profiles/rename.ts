import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';

export default defineCommand({
  summary: 'Give a profile another name',
  arguments: { from: argument('The profile', { complete: 'profiles' }), to: argument('Its new name') },
  examples: [{ command: 'aops profiles rename default production', text: 'The credential goes with it' }],
  result: returns({ from: 'string', to: 'string' }),
  output: textOutput<{ from: string; to: string }>(({ from, to }) => `Profile "${from}" is called "${to}" now.`),
  async run(context, input) {
    await context.store.renameProfile(input.from, input.to);
    return { from: input.from, to: input.to };
  },
});
