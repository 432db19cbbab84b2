import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, flag, optionalArgument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { settingDefinition } from '../../config/settings.ts';

export default defineCommand({
  summary: 'Store a setting, or forget it with --unset',
  arguments: { key: argument('The setting', { complete: 'settings' }), value: optionalArgument('Its value') },
  options: { unset: flag('Forget the setting') },
  examples: [
    { command: 'aops config set output json', text: 'JSON unless a flag says otherwise' },
    { command: 'aops config set output --unset', text: 'Back to the default' },
  ],
  result: returns({ key: 'string', value: 'string|null' }),
  output: textOutput<{ key: string; value: string | boolean | null }>(({ key, value }) =>
    value === null ? `${key} is not set any more.` : `${key} = ${value}`,
  ),
  async run(context, input) {
    const { key, value, unset } = input;
    if (unset === (value !== undefined)) throw new UsageError('Give a value, or --unset.');
    if (value === undefined) await context.store.unsetSetting(key);
    // A stored path has to mean the same file from every folder.
    else await context.store.setSetting(key, settingDefinition(key).type === 'file' && value ? path.resolve(context.cwd, value) : value);
    return { key, value: context.store.setting(key) ?? null };
  },
});
