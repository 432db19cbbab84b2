import { defineCommand } from '../define.ts';
import { recordOutput, time } from '../output.ts';
import { returns } from '../result.ts';

export default defineCommand({
  summary: 'Create a sandbox to stage files in for a run',
  operations: ['createSandbox'],
  mutates: true,
  examples: [{ command: 'SANDBOX=$(aops sandbox create -o id)', text: 'For use with `aops sandbox push` and `aops runs start --sandbox`' }],
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
