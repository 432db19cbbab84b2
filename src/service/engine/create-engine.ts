/** Builds the engine from the options of the service. */
import { join } from 'node:path';
import type { BrowsePolicy, BrowserOptions } from '../browser/chromium.ts';
import { Renewals } from '../connections/renewals.ts';
import { Containment, type ExecSetting } from '../contained/containment.ts';
import type { FileStoreSetting } from '../files/setting.ts';
import { errorFields } from '../log.ts';
import { GuardedAgent } from '../outbound/guarded-agent.ts';
import { HostRules, wordFor } from '../outbound/host-rules.ts';
import { Sender } from '../outbound/sender.ts';
import type { Lookup } from '../outbound/system-lookup.ts';
import { PageLinks } from '../page-links.ts';
import { Repositories } from '../repositories/repositories.ts';
import { createAcpRuntime } from '../runtimes/acp/acp-runtime.ts';
import { defaultConcurrency } from '../runtimes/acp/agent-slots.ts';
import type { AcpOptions } from '../runtimes/acp/options.ts';
import { RunTokens } from '../runtimes/run-tokens.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { scriptRuntime } from '../runtimes/script/script-runtime.ts';
import { systemPath } from '../sandbox/exec.ts';
import { SandboxStore } from '../sandbox/sandbox-store.ts';
import { SecretBox } from '../secret-box.ts';
import { largestConcurrency } from '../store/access/plans.ts';
import { openFileStore } from '../store/files/open-file-store.ts';
import type { DatabaseCopies } from '../store/storage.ts';
import { BackupHolds } from './backup/backup-hold.ts';
import { probeLimit } from './connections/limits.ts';
import type { Engine, HasClock, HasLog, HasStore } from './engine.ts';
import { Worker } from './jobs/worker.ts';
import { pushServices } from './push/services.ts';
import { openWorkspaces } from './workspaces/open-workspaces.ts';

export interface EngineOptions {
  /** Created with mode 0700 if it does not exist. One process owns it at a time. */
  dataDirectory: string;
  /** Whether runs may execute commands, and how far these are confined: `host` runs them as this user, without confinement. */
  exec: ExecSetting;
  /** The path of Node. By default, it is searched for like commands. */
  node?: string;
  /** The version of that Node, such as `20.19.0`; undefined if it is unknown. */
  nodeVersion?: string;
  /** PATH of those commands, also searched for a browser. By default, the folders of the system. They get nothing else of the environment. */
  commandPath?: string;
  /** Whether runs may browse. By default, the policy is `off`, and the browser is a Chromium found on this machine. */
  browsing?: { policy: BrowsePolicy } & Partial<BrowserOptions>;
  /** Runs executed at the same time by this process. By default, the most that any plan allows a team. */
  runConcurrency?: number;
  /** Milliseconds for which the files of a run are kept after its end. By default, they are kept for ever. */
  sandboxRetention?: number;
  /** Milliseconds for which a run is kept after its end, with everything that belongs to it. By default, it is kept for ever. */
  runRetention?: number;
  webhooks?: {
    /** Hosts, addresses, and ranges that webhooks may be sent to; `loopback` for this machine, `public` for the whole internet. None by default. */
    allow?: readonly string[];
    /** Factor on all waits between attempts. 1 by default. */
    timeScale?: number;
    /** Random numbers from 0 to 1 for the jitter of those waits. Math.random by default. */
    random?: () => number;
    /** By default, that of the system. */
    lookup?: Lookup;
  };
  push?: {
    /** Hosts, addresses, and ranges of push services in addition to those of browsers, written like those of webhooks. None by default. */
    allow?: readonly string[];
    /** By default, that of the system. */
    lookup?: Lookup;
  };
  connections?: {
    /** Hosts, addresses, and ranges of MCP servers, of their authorization servers, and of repositories, written like those of webhooks. None by default. */
    allow?: readonly string[];
    /** By default, that of the system. */
    lookup?: Lookup;
  };
  agents?: {
    /**
     * Hosts, addresses, and ranges that contained programs can reach if their agent lists them, written like those of webhooks; `all`
     * permits the whole network of this machine. `public` by default.
     */
    allow?: readonly string[];
    /** By default, that of the system. */
    lookup?: Lookup;
  };
  /** Limits of agents that are processes. */
  acp?: Partial<Pick<AcpOptions, 'idleTimeout' | 'turnTimeout' | 'limits'>> & {
    /** How many agents can run at the same time. By default, as many as fit into the memory of this machine. */
    agentConcurrency?: number | undefined;
  };
  /** Where files of runs are kept, apart from their sandboxes. By default, in the Postgres database, or in the data directory without one. */
  files?: FileStoreSetting;
  /** Encrypts secrets. By default, with the key in the data directory. */
  secrets?: SecretBox;
  /** What executes agents. By default, the script runtime and the acp runtime. */
  runtimes?: readonly Runtime[];
}

/** An engine with the whole worker, for whoever starts and stops it. */
export interface StartableEngine extends Engine {
  readonly containment: Containment;
  readonly worker: Worker;
  /** How many agents that are processes can run at the same time. */
  readonly agentConcurrency: number;
}

/**
 * Creates the engine of a service. Start its worker when everything else is ready.
 * @throws AopsError `secret_key_invalid`, UsageError `webhook_host_invalid`, `connection_host_invalid`, `agent_host_invalid`, `file_store_needs_database`, `file_store_invalid`, `file_store_unusable`
 */
export async function createEngine(
  options: EngineOptions,
  { store, copies, clock, log, instanceId }: HasStore & HasClock & HasLog & { copies: DatabaseCopies; instanceId: string },
): Promise<StartableEngine> {
  const { dataDirectory, commandPath, webhooks = {}, push = {}, connections = {} } = options;
  const connectionAgent = new GuardedAgent({
    rules: new HostRules(connections.allow, 'connection'),
    lookup: connections.lookup,
    deadline: probeLimit,
    refusalMessage: (host) =>
      `the service may not connect to ${host}; to allow that, start it with --allow-connection-host ${wordFor(host)}`,
  });
  const searchPath = commandPath ?? systemPath;
  const runTokens = new RunTokens();
  const agentConcurrency = options.acp?.agentConcurrency ?? defaultConcurrency();
  const runtimes = options.runtimes ?? [
    scriptRuntime,
    createAcpRuntime({
      clock,
      log,
      searchPath,
      runTokens,
      node: options.node,
      nodeVersion: options.nodeVersion,
      ...options.acp,
      agentConcurrency,
    }),
  ];
  const sandboxes = new SandboxStore(join(dataDirectory, 'sandboxes'), {
    ...(commandPath === undefined ? {} : { path: commandPath }),
    onProblem: (error) => log('warn', 'files of a run cannot be removed', errorFields(error)),
  });
  const repositories = new Repositories(join(dataDirectory, 'repositories'), { path: searchPath, agent: connectionAgent });
  const files = await openFileStore(options.files, { store, dataDirectory });
  const box = options.secrets ?? (await SecretBox.open(join(dataDirectory, 'secrets.key')));
  const timing = { scale: webhooks.timeScale ?? 1, random: webhooks.random ?? Math.random };
  return {
    ...{ store, clock, log, agentConcurrency },
    runtimes: new Map(runtimes.map((runtime) => [runtime.name, runtime])),
    runTokens,
    ...{ sandboxes, repositories, files },
    workspaces: await openWorkspaces({ store, clock, log, files, sandboxes, repositories }, instanceId),
    containment: new Containment({
      ...{ setting: options.exec, dataDirectory, searchPath, node: options.node },
      ...options.agents,
    }),
    browsing: { policy: 'off', searchPath, ...options.browsing },
    sandboxRetention: options.sandboxRetention,
    runRetention: options.runRetention,
    runConcurrency: options.runConcurrency ?? (await largestConcurrency(store)),
    webhooks: {
      sender: new Sender({
        ...{ clock, rules: new HostRules(webhooks.allow), lookup: webhooks.lookup },
        refusalMessage: (host) => `webhooks may not be sent to ${host}`,
      }),
      timing,
      links: new PageLinks(),
    },
    push: {
      sender: new Sender({
        ...{ clock, rules: new HostRules([...pushServices, ...(push.allow ?? [])]), lookup: push.lookup },
        refusalMessage: (host) => `${host} is not a push service`,
      }),
      ...{ timing, box },
    },
    connections: {
      agent: connectionAgent,
      box,
      renewals: new Renewals(store),
    },
    worker: new Worker({ store, clock, log, owner: instanceId }),
    backups: new BackupHolds({ copies, clock, log }),
  };
}
