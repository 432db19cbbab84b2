import { formatDuration } from '../../base/duration.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument } from '../../cli/kit/flags.ts';
import { wholeList } from '../../cli/kit/list.ts';
import { column, listOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { ResolvedConfig } from '../../config/resolve.ts';
import type { Resolved } from '../../config/resolved.ts';
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
  summary: 'Show the value of each setting that counts, where it comes from, and what it shadows',
  description: 'A flag beats the environment, the environment beats the profile, the profile beats the stored setting. Secrets are masked.',
  arguments: { key: optionalArgument('One setting', { complete: 'settings' }) },
  examples: [
    { command: 'aops config explain', text: 'All of them' },
    { command: 'aops config explain base_url --profile ci', text: 'Where would this go?' },
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
    empty: 'No settings.',
  }),
  async run(context, input) {
    const config = context.config();
    const rows = [
      ...settingDefinitions.map(({ key }) =>
        explained(key, config[key as keyof ResolvedConfig] as Resolved<ExplainedSetting['value'] | undefined>),
      ),
      credential(config),
    ];
    const wanted = input.key === undefined ? rows : rows.filter(({ key }) => key === input.key);
    if (input.key !== undefined && wanted.length === 0)
      throw settingUnknown(
        input.key,
        rows.map(({ key }) => key),
      );
    return wholeList(wanted);
  },
});

function explained(key: string, { value, name, shadowed }: Resolved<ExplainedSetting['value'] | undefined>): ExplainedSetting {
  return {
    id: key,
    key,
    value: value ?? null,
    source: value === undefined ? 'not set' : name,
    shadowed: shadowed.map((other) => ({ value: other.value, source: other.name })),
  };
}

function credential({ credential: found, credential_problem }: ResolvedConfig): ExplainedSetting {
  const row = explained('credential', { ...found, value: found.masked });
  return credential_problem ? { ...row, source: `${found.name}: ${credential_problem.message}` } : row;
}
