import { defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { returns } from '../result.ts';
import { connectionsInWords } from './connection-flags.ts';
import { retentionInWords } from './retention.ts';
import { browseInWords, defaultDataDirectory, execInWords, type LocalState, localProfile, runningService } from './state.ts';
import { webhooksInWords } from './webhook-flags.ts';

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
  webhook_hosts: string[] | null;
  connection_hosts: string[] | null;
  retention: string | null;
  sandbox_retention: string | null;
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
    browse: 'on|public|off|null',
    webhook_hosts: 'string[]|null',
    connection_hosts: 'string[]|null',
    retention: 'string|null',
    sandbox_retention: 'string|null',
    ephemeral: 'boolean',
    started_at: 'date-time|null',
  }),
  output: recordOutput<LocalStatus>((status) => ({
    Running: status.running ? 'yes' : 'no (start it with `aops local up`)',
    URL: status.url ?? undefined,
    Process: status.pid ?? undefined,
    Data: status.ephemeral ? `${status.data_dir} (temporary)` : status.data_dir,
    Profile: status.profile ?? undefined,
    Team: status.team_id ?? undefined,
    Version: status.version ?? undefined,
    Commands: status.exec === null ? undefined : execInWords(status.exec),
    Browsing: status.browse === null ? undefined : browseInWords(status.browse),
    Webhooks: webhooksInWords(status.webhook_hosts),
    Connections: connectionsInWords(status.connection_hosts),
    Kept: retentionInWords(status.retention, status.sandbox_retention),
  })),
  async run(context): Promise<LocalStatus> {
    const state = await runningService(context);
    if (!state) {
      const unknown = { url: null, pid: null, profile: null, team_id: null, version: null, started_at: null };
      const policies = { exec: null, browse: null, webhook_hosts: null, connection_hosts: null, retention: null, sandbox_retention: null };
      return { running: false, data_dir: defaultDataDirectory(context), ephemeral: false, ...unknown, ...policies };
    }
    const {
      url,
      pid,
      data_dir,
      team_id,
      version,
      exec,
      browse = 'off',
      webhook_hosts = [],
      connection_hosts = [],
      retention = null,
      sandbox_retention = null,
      ephemeral,
      started_at,
    } = state;
    const policies = { exec, browse, webhook_hosts, connection_hosts, retention, sandbox_retention };
    return { running: true, profile: localProfile, url, pid, data_dir, team_id, version, ...policies, ephemeral, started_at };
  },
});
