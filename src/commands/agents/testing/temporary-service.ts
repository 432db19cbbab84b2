/**
 * A service that exists only while tests run: in this process, with its data in a temporary folder, on a port of the loopback interface
 * that nobody else knows. Configured services and profiles play no part in it.
 */
import { lstat, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { takeLock, type Unlock } from '../../../base/lock-file.ts';
import { removeTree } from '../../../base/remove-tree.ts';
import { makeTemporaryFolder } from '../../../base/temporary-folder.ts';
import { userAgent } from '../../../cli/connect/connection.ts';
import { agentHosts, type ExecInput } from '../../../cli/input/exec-options.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { bearerCredential } from '../../../client/access/credential.ts';
import type { Client } from '../../../client/client.ts';
import type { Service } from '../../../service/service.ts';

const prefix = 'aops-agents-test-';
/** A running command touches this file more often than the time after which its folder counts as abandoned. */
const lockName = 'lock';
const staleMilliseconds = 600_000;
/** How long the service waits at its end for runs that were not stopped; milliseconds. */
const drainMilliseconds = 2_000;

/** A team of its own, so that no test sees the agents, the memory, or the cases of another one. */
export interface TestTeam {
  readonly id: string;
  readonly client: Client;
}

export class TemporaryService {
  /** For files of the tests; removed with the service. */
  readonly folder: string;
  readonly #context: Context;
  readonly #service: Service;
  readonly #clients: Client[] = [];
  readonly #unlock: Unlock | undefined;
  #owner: Promise<Client> | undefined;

  private constructor(context: Context, folder: string, service: Service, unlock: Unlock | undefined) {
    this.#context = context;
    this.folder = folder;
    this.#service = service;
    this.#unlock = unlock;
  }

  /** @throws AopsError if it cannot be started, for example `containment_unavailable` */
  static async start(context: Context, input: ExecInput): Promise<TemporaryService> {
    await removeAbandoned(context);
    const folder = await makeTemporaryFolder(prefix);
    let unlock: Unlock | undefined;
    try {
      unlock = await takeLock(path.join(folder, lockName), { staleMilliseconds });
      const { startService } = await import('../../../service/service.ts');
      const service = await startService({
        dataDirectory: path.join(folder, 'data'),
        exec: input.exec ?? 'auto',
        node: context.launcher.executable,
        // As for `local up`: this machine belongs to the user.
        agents: { allow: ['loopback', ...agentHosts(input)] },
        connections: { allow: ['loopback', 'public'] },
        browsing: { policy: 'on', ...(context.env.AOPS_CHROMIUM ? { executable: context.env.AOPS_CHROMIUM } : {}) },
        ...(context.env.PATH === undefined ? {} : { commandPath: context.env.PATH }),
        drain: { time: drainMilliseconds },
      });
      return new TemporaryService(context, folder, service, unlock);
    } catch (error) {
      unlock?.();
      await removeTree(folder);
      throw error;
    }
  }

  /** Why runs cannot execute commands and programs, as a sentence; undefined if they can, or need not. */
  get execProblem(): string | undefined {
    const { shortfall } = this.#service;
    return shortfall === undefined ? undefined : `Runs cannot execute commands: ${shortfall.missing}. ${shortfall.remedy}`;
  }

  /** The team of the owner, who alone may let runs read repositories in folders. */
  async ownTeam(): Promise<TestTeam> {
    this.#owner ??= this.#client(this.#service.token);
    return { id: this.#service.teamId, client: await this.#owner };
  }

  /** @param name unique among the teams */
  async team(name: string): Promise<TestTeam> {
    const { client: owner } = await this.ownTeam();
    const { team } = await owner.call('createLocalTeam', { body: { name } });
    const { secret } = await owner.call('createLocalToken', { body: { name, team_id: team.id } });
    return { id: team.id, client: await this.#client(secret) };
  }

  /** Ends the service with its runs, and removes its data. */
  async end(): Promise<void> {
    try {
      await Promise.all(this.#clients.map((client) => client.close()));
      await this.#service.close();
    } finally {
      this.#unlock?.();
      await removeTree(this.folder);
    }
  }

  /** Not bound to the signal of the command: runs are stopped after Ctrl-C, too. */
  async #client(token: string): Promise<Client> {
    const { Client } = await import('../../../client/index.ts');
    const client = new Client({
      baseUrl: this.#service.url,
      credential: bearerCredential(token),
      network: {},
      userAgent: userAgent(this.#context),
      clock: this.#context.clock,
    });
    this.#clients.push(client);
    return client;
  }
}

/** Removes the folders of processes that were killed. Failures are ignored, because the next command tries again. */
async function removeAbandoned({ clock }: Context): Promise<void> {
  const uid = process.getuid?.();
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    if (!name.startsWith(prefix)) continue;
    const folder = path.join(tmpdir(), name);
    try {
      const stats = await lstat(folder);
      // In a shared place, only folders that no other user can have created or can change.
      const isOurs = stats.isDirectory() && (uid === undefined || stats.uid === uid) && (stats.mode & 0o022) === 0;
      const { mtimeMs } = await lstat(path.join(folder, lockName)).catch(() => stats);
      if (isOurs && clock.now() - mtimeMs > staleMilliseconds) await removeTree(folder);
    } catch {
      // The folder is already gone or cannot be removed.
    }
  }
}
