import path from 'node:path';
import {
  browseInWords,
  dataDirFlag,
  defaultDataDirectory,
  execInWords,
  findService,
  type LocalState,
  localProfile,
} from '../../cli/connect/local-state.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { documentOutput, recordFields } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { openAdministration, requestedDatabase } from './administration.ts';
import { agentProcessesInWords } from './agent-flags.ts';
import { databaseOptions } from './database-flags.ts';
import { type NodeStatus, nodeColumns, nodeFields, nodeStatus } from './nodes.ts';
import { hostsInWords, ownMachine } from './outbound-hosts.ts';
import { retentionInWords } from './retention.ts';

interface LocalStatus {
  running: boolean;
  /** `up` or `serve`, whichever started it. */
  started_with: 'up' | 'serve' | null;
  url: string | null;
  public_url: string | null;
  pid: number | null;
  data_dir: string;
  profile: string | null;
  team_id: string | null;
  version: string | null;
  exec: LocalState['exec'] | null;
  exec_problem: string | null;
  exec_hint: string | null;
  browse: LocalState['browse'] | null;
  webhook_hosts: string[] | null;
  connection_hosts: string[] | null;
  retention: string | null;
  sandbox_retention: string | null;
  max_agents: number | null;
  agent_idle: string | null;
  agent_timeout: string | null;
  /** The name of the node, and its database as `host:port/database`, if it shares one. */
  node: string | null;
  database: string | null;
  /** Of the database from --database-url. */
  nodes: NodeStatus[];
  ephemeral: boolean;
  started_at: string | null;
}

/** The status without a running service; defines the order of the fields. */
const notRunning: LocalStatus = {
  running: false,
  started_with: null,
  url: null,
  public_url: null,
  pid: null,
  data_dir: '',
  profile: null,
  team_id: null,
  version: null,
  exec: null,
  exec_problem: null,
  exec_hint: null,
  browse: null,
  webhook_hosts: null,
  connection_hosts: null,
  retention: null,
  sandbox_retention: null,
  max_agents: null,
  agent_idle: null,
  agent_timeout: null,
  node: null,
  database: null,
  nodes: [],
  ephemeral: false,
  started_at: null,
};

export default defineCommand({
  summary: 'Show the status of the local service',
  description:
    'Finds a service started by `aops local up`, or by `aops serve` on the same data directory. With --database-url, it lists the nodes on that database, and what each of them is executing.',
  options: { ...dataDirFlag, ...databaseOptions },
  examples: [
    { command: 'aops local status', text: 'Show the status' },
    { command: 'aops local status --database-url postgres://aops@db.example.com/aops', text: 'List the nodes on a database' },
    { command: 'aops local status --json --jq .running', text: 'Print whether the service is running' },
  ],
  result: returns({
    running: 'boolean',
    started_with: 'up|serve|null',
    url: 'url|null',
    public_url: 'url|null',
    pid: 'integer|null',
    data_dir: 'string',
    profile: 'string|null',
    team_id: 'uuid|null',
    version: 'string|null',
    exec: 'contained|host|off|null',
    exec_problem: 'string|null',
    exec_hint: 'string|null',
    browse: 'on|public|off|null',
    webhook_hosts: 'string[]|null',
    connection_hosts: 'string[]|null',
    retention: 'string|null',
    sandbox_retention: 'string|null',
    max_agents: 'integer|null',
    agent_idle: 'string|null',
    agent_timeout: 'string|null',
    node: 'string|null',
    database: 'string|null',
    nodes: [nodeFields],
    ephemeral: 'boolean',
    started_at: 'date-time|null',
  }),
  output: documentOutput<LocalStatus>(async (status, view) => {
    const { renderRecord } = await import('../../terminal/record.ts');
    const { renderTable } = await import('../../terminal/table.ts');
    if (!isCluster(status)) return renderRecord(recordFields(serviceRecord(status)), view);
    if (status.nodes.length === 0) return 'No nodes are running on the database. Start one with `aops serve`.\n';
    return renderTable(status.nodes, nodeColumns, view);
  }),
  async run(context, input): Promise<LocalStatus> {
    const url = input.dataDir === undefined ? requestedDatabase(context, input) : undefined;
    if (url !== undefined) return databaseStatus(context, url);
    const service = await findService(context, input.dataDir);
    if (!service) {
      const data_dir = input.dataDir === undefined ? defaultDataDirectory(context) : path.resolve(context.cwd, input.dataDir);
      return { ...notRunning, data_dir };
    }
    const { isServed, state } = service;
    const own = Object.fromEntries(Object.keys(notRunning).flatMap((key) => (key in state ? [[key, state[key as keyof LocalState]]] : [])));
    // Defaults for the state of an older version.
    const older: Partial<LocalStatus> = { browse: 'off', webhook_hosts: [ownMachine], connection_hosts: [ownMachine] };
    const startDetails: Partial<LocalStatus> = isServed
      ? { started_with: 'serve' }
      : { started_with: 'up', profile: hasProfileFor(context, state) ? localProfile : null };
    return { ...notRunning, ...older, ...own, ...startDetails, running: true };
  },
});

/** `aops local up` may have started the service, and then failed to store its profile. */
const hasProfileFor = ({ store }: Context, { url }: LocalState): boolean =>
  store.profiles().some(({ name, base_url }) => name === localProfile && base_url === url);

/** Whether the status is that of a database, and not of a service on this machine. */
const isCluster = ({ data_dir }: LocalStatus): boolean => data_dir === '';

async function databaseStatus(context: Context, url: string): Promise<LocalStatus> {
  const administration = await openAdministration(context, url);
  try {
    const nodes = (await administration.nodes()).map(nodeStatus);
    const { database, teamId: team_id } = administration;
    return { ...notRunning, running: nodes.some(({ alive }) => alive), database, team_id, nodes };
  } finally {
    await administration.close();
  }
}

/** The status of a service on this machine. */
const serviceRecord = (status: LocalStatus) => ({
  Running: status.running ? 'yes' : 'no (start it with `aops local up`)',
  'Started with': status.started_with === 'serve' ? '`aops serve`' : undefined,
  URL: status.url ?? undefined,
  'Public URL': status.public_url ?? undefined,
  Process: status.pid ?? undefined,
  Data: status.ephemeral ? `${status.data_dir} (temporary)` : status.data_dir,
  Profile: status.profile ?? (status.started_with === 'up' ? 'missing (create it with `aops local up`)' : undefined),
  Team: status.team_id ?? undefined,
  Version: status.version ?? undefined,
  Commands: status.exec === null ? undefined : execInWords({ exec: status.exec, exec_problem: status.exec_problem }),
  'To run them': status.exec_hint ?? undefined,
  Browsing: status.browse === null ? undefined : browseInWords(status.browse),
  Webhooks: hostsInWords(status.webhook_hosts),
  Connections: hostsInWords(status.connection_hosts),
  Agents: agentProcessesInWords(status),
  Retention: retentionInWords(status.retention, status.sandbox_retention),
  Node: status.node ?? undefined,
  Database: status.database ?? undefined,
});
