import { defineCommand } from '../../cli/kit/command.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { settingDefinitions } from '../../config/settings.ts';

interface ListedSetting {
  id: string;
  key: string;
  value: string | boolean | null;
  default: string | boolean | null;
  description: string;
}

export default defineCommand({
  summary: 'List all settings with their stored values',
  examples: [{ command: 'aops config list', text: 'List all settings' }],
  result: returns({ id: 'string', key: 'string', value: 'string|null', default: 'string|null', description: 'string' }),
  output: listOutput<ListedSetting>({
    columns: [
      column('SETTING', (setting) => setting.key),
      column('VALUE', (setting) => setting.value ?? '', { shrink: true }),
      column('DEFAULT', (setting) => setting.default ?? ''),
      column('MEANING', (setting) => setting.description, { shrink: true }),
    ],
    empty: 'There are no settings.',
  }),
  async run(context) {
    const storedSettings = context.store.settings();
    return wholeList(
      settingDefinitions.map(
        ({ key, description, default: fallback }): ListedSetting => ({
          id: key,
          key,
          value: storedSettings[key] ?? null,
          default: fallback ?? null,
          description,
        }),
      ),
    );
  },
});
