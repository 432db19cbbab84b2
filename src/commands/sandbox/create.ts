import { defineCommand } from '../../cli/kit/command.ts';
import { recordOutput, time } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';

export default defineCommand({
  summary: 'Create a sandbox to stage files for a run',
  operations: ['createSandbox'],
  mutates: true,
  examples: [
    { command: 'SANDBOX=$(aops sandbox create -o id)', text: 'Create a sandbox for `aops sandbox push` and `aops runs start --sandbox`' },
  ],
  result: returns('createSandbox', { id: 'string' }),
  output: recordOutput<{ id: string; sandbox_id: string; expires_at: string }>((sandbox) => ({
    ID: sandbox.sandbox_id,
    Expires: time(sandbox.expires_at),
  })),
  async run(context) {
    const client = await context.client();
    const sandbox = await client.call('createSandbox', {});
    return { id: sandbox.sandbox_id, ...sandbox };
  },
});
