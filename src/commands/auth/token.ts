import { UsageError } from '../../base/errors.ts';
import { requireCredential } from '../../config/resolve.ts';
import { defineCommand } from '../define.ts';

export default defineCommand({
  summary: 'Print the key in use, for another program',
  description: 'The one command that prints a secret. Give it to a program through a pipe or a variable, never as an argument.',
  examples: [{ command: 'AOPS_API_KEY=$(aops auth token) ./nightly.sh', text: 'Hand it on' }],
  async run(context) {
    if (context.format !== 'table')
      throw new UsageError('The key is printed bare, and in no other format.', 'Leave out --json and --output.');
    const credential = requireCredential(context.config());
    if (credential.type !== 'token')
      throw new UsageError(
        'This profile has client credentials, not a key.',
        'Use them in the other program too (AOPS_CLIENT_ID, AOPS_CLIENT_SECRET).',
      );
    await context.terminal.line(credential.token);
  },
});
