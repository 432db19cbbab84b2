import { UsageError } from '../../base/errors.ts';
import { accessToken } from '../../cli/connect/connection.ts';
import { defineCommand } from '../../cli/kit/command.ts';

export default defineCommand({
  summary: 'Print the key or access token in use',
  description:
    'Prints a secret. Hand it to another program through a pipe or a variable, never as an argument. With client credentials it prints an access token, fetching one if none is stored.',
  examples: [{ command: 'AOPS_API_KEY=$(aops auth token) ./nightly.sh', text: 'Pass the key to another program' }],
  async run(context) {
    if (context.format !== 'table')
      throw new UsageError('This command prints the bare key and supports no other output format.', 'Omit --json and --output.');
    await context.terminal.line(await accessToken(context));
  },
});
