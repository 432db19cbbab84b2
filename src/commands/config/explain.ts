import { formatDuration } from '../../base/duration.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { ResolvedConfig } from '../../config/resolve.ts';
import type { ResolvedValue } from '../../config/resolved.ts';
import { settingDefinitions, settingUnknown } from '../../config/settings.ts';

interface ExplainedSetting {
  id: string;
  key: string;
  /** Durations in milliseconds. */
  value: string | number | boolean | null;
  /** `--team`, `AOPS_TEAM_ID`, `profile local`, `setting team_id`, `default`. */
  source: string;
  shadowed: { value: string; source: string }[];
}

export default defineCommand({
  summary: 'Show the effective settings and where they come from',
  description:
    'The first of these that has a value applies: a flag, the environment, the .aops.toml of the directory, the profile, a stored setting. Secrets are masked.',
  arguments: { key: optionalArgument('Only this setting', { complete: 'settings' }) },
  examples: [
    { command: 'aops config explain', text: 'Show all settings' },
    { command: 'aops config explain base_url --profile ci', text: 'Show which address the profile "ci" would use' },
  ],
  result: returns({
    id: 'string',
    key: 'string',
    value: 'string|null',
    source: 'string',
    shadowed: [{ value: 'string', source: 'string' }],
  }),
  output: listOutput<ExplainedSetting>({
    columns: [
      column('SETTING', (setting) => setting.key),
      column('VALUE', (setting) => (typeof setting.value === 'number' ? formatDuration(setting.value) : (setting.value ?? '')), {
        shrink: true,
      }),
      column('FROM', (setting) => setting.source),
      column('SHADOWS', (setting) => setting.shadowed.map(({ value, source }) => `${value} (${source})`).join(', '), { shrink: true }),
    ],
    empty: 'There are no settings.',
  }),
  async run(context, input) {
    const config = context.config();
    const rows = [
      ...settingDefinitions.map(({ key }) =>
        explainSetting(key, config[key as keyof ResolvedConfig] as ResolvedValue<ExplainedSetting['value'] | undefined>),
      ),
      credential(config),
    ];
    const selectedRows = input.key === undefined ? rows : rows.filter(({ key }) => key === input.key);
    if (input.key !== undefined && selectedRows.length === 0)
      throw settingUnknown(
        input.key,
        rows.map(({ key }) => key),
      );
    return wholeList(selectedRows);
  },
});

function explainSetting(key: string, { value, name, shadowed }: ResolvedValue<ExplainedSetting['value'] | undefined>): ExplainedSetting {
  return {
    id: key,
    key,
    value: value ?? null,
    source: value === undefined ? 'not set' : name,
    shadowed: shadowed.map((other) => ({ value: other.value, source: other.name })),
  };
}

function credential({ credential: resolvedCredential, credential_problem }: ResolvedConfig): ExplainedSetting {
  const row = explainSetting('credential', { ...resolvedCredential, value: resolvedCredential.masked });
  return credential_problem ? { ...row, source: `${resolvedCredential.name}: ${credential_problem.message}` } : row;
}
