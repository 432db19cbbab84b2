import path from 'node:path';
import { UsageError } from '../../base/errors.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, flag, optionalArgument } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { settingDefinition } from '../../config/settings.ts';

export default defineCommand({
  summary: 'Store or remove a setting',
  arguments: { key: argument('The setting', { complete: 'settings' }), value: optionalArgument('The value to store') },
  options: { unset: flag('Remove the stored value') },
  examples: [
    { command: 'aops config set output json', text: 'Print JSON by default' },
    { command: 'aops config set output --unset', text: 'Restore the default' },
  ],
  result: returns({ key: 'string', value: 'string|null' }),
  output: textOutput<{ key: string; value: string | boolean | null }>(({ key, value }) =>
    value === null ? `${key} is no longer set.` : `${key} = ${value}`,
  ),
  async run(context, input) {
    const { key, value, unset } = input;
    if (unset === (value !== undefined)) throw new UsageError('Specify either a value or --unset.');
    if (value === undefined) await context.store.unsetSetting(key);
    // A stored path must refer to the same file from every directory.
    else await context.store.setSetting(key, settingDefinition(key).type === 'file' && value ? path.resolve(context.cwd, value) : value);
    return { key, value: context.store.setting(key) ?? null };
  },
});
