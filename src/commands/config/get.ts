import { AopsError, exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';

export default defineCommand({
  summary: 'Print a stored setting',
  arguments: { key: argument('The setting', { complete: 'settings' }) },
  exits: [exitCodes.notFound],
  examples: [{ command: 'aops config get team_id', text: 'Print the stored team ID; the exit code is 3 if it is not set' }],
  result: returns({ key: 'string', value: 'string' }),
  output: textOutput<{ key: string; value: string | boolean }>(({ value }) => String(value)),
  async run(context, input) {
    const value = context.store.setting(input.key);
    if (value !== undefined) return { key: input.key, value };
    throw new AopsError(`${input.key} is not set.`, {
      code: 'setting_not_set',
      exit: exitCodes.notFound,
      hint: `Set it with \`aops config set ${input.key} VALUE\`; \`aops config explain\` shows the effective value.`,
    });
  },
});
