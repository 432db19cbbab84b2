import { UsageError } from '../../base/errors.ts';
import { accessToken } from '../../cli/connect/connection.ts';
import { defineCommand } from '../../cli/kit/command.ts';

export default defineCommand({
  summary: 'Print the key in use, or a valid access token, for another program',
  description:
    'The one command that prints a secret. Give it to a program through a pipe or a variable, never as an argument. With client credentials it prints an access token, fetched where none is at hand.',
  examples: [{ command: 'AOPS_API_KEY=$(aops auth token) ./nightly.sh', text: 'Hand it on' }],
  async run(context) {
    if (context.format !== 'table')
      throw new UsageError('The key is printed bare, and in no other format.', 'Leave out --json and --output.');
    await context.terminal.line(await accessToken(context));
  },
});
