import { defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { returns } from '../result.ts';
import { browseInWords, defaultDataDirectory, execInWords, type LocalState, localProfile, runningService } from './state.ts';

interface LocalStatus {
  running: boolean;
  url: string | null;
  pid: number | null;
  data_dir: string;
  profile: string | null;
  team_id: string | null;
  version: string | null;
  exec: 'host' | 'off' | null;
  browse: LocalState['browse'] | null;
  ephemeral: boolean;
  started_at: string | null;
}

export default defineCommand({
  summary: 'Say whether the local service runs, where, and what it may do',
  examples: [
    { command: 'aops local status', text: 'Look' },
    { command: 'aops local status --json --jq .running', text: 'Ask in a script' },
  ],
  result: returns({
    running: 'boolean',
    url: 'url|null',
    pid: 'integer|null',
    data_dir: 'string',
    profile: 'string|null',
    team_id: 'uuid|null',
    version: 'string|null',
    exec: 'host|off|null',
    ephemeral: 'boolean',
    started_at: 'date-time|null',
  }),
  output: recordOutput<LocalStatus>((status) => ({
    Running: status.running ? 'yes' : 'no (start it with `aops local up`)',
    URL: status.url,
    Process: status.pid,
    Data: status.ephemeral ? `${status.data_dir} (temporary)` : status.data_dir,
    Profile: status.profile,
    Team: status.team_id,
    Version: status.version,
    Commands: status.exec === null ? null : execInWords(status.exec),
    Browsing: status.browse === null ? null : browseInWords(status.browse),
  })),
  async run(context): Promise<LocalStatus> {
    const state = await runningService(context);
    if (!state) {
      const nothing = { url: null, pid: null, profile: null, team_id: null, version: null, exec: null, browse: null, started_at: null };
      return { running: false, data_dir: defaultDataDirectory(context), ephemeral: false, ...nothing };
    }
    const { url, pid, data_dir, team_id, version, exec, browse = 'off', ephemeral, started_at } = state;
    return { running: true, url, pid, data_dir, profile: localProfile, team_id, version, exec, browse, ephemeral, started_at };
  },
});
