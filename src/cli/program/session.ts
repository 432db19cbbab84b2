/** The session of one command: its context, signals, deadline, and cleanup. */
import path from 'node:path';
import { steadyTime, systemClock } from '../../base/clock.ts';
import { parseDuration } from '../../base/duration.ts';
import { AopsError, exitCodes, isUnexpected } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import { RetryBudget } from '../../client/retry-budget.ts';
import { type ConfigPaths, configPaths, homeFolder } from '../../config/paths.ts';
import type { Project } from '../../config/project.ts';
import { findProjectFile } from '../../config/project-file.ts';
import { type ResolvedConfig, requireTeam, resolveConfig } from '../../config/resolve.ts';
import type { ColorMode, OutputFormat, SettingKey, SettingValue } from '../../config/settings.ts';
import { ConfigStore } from '../../config/store.ts';
import { Drafts } from '../../terminal/prompting/drafts.ts';
import { createPrompter } from '../../terminal/prompts.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import type { Terminal } from '../../terminal/streams.ts';
import type { Context } from '../kit/context.ts';
import type { ChangeFlags, GlobalFlags } from '../kit/global-flags.ts';
import type { Entries } from '../kit/tree.ts';
import { currentFolder, type Host } from './host.ts';

export class Session {
  readonly context: Context;
  readonly #host: Host;
  readonly #controller = new AbortController();
  readonly #endController = new AbortController();
  #client: Promise<Client> | undefined;
  #config: ResolvedConfig | undefined;

  constructor(host: Host, terminal: Terminal, flags: GlobalFlags & ChangeFlags, commands: Entries, project?: Project) {
    this.#host = host;
    const paths = pathsOf(host);
    const store = new ConfigStore(paths.config);
    const drafts = new Drafts(path.join(paths.data, 'unsent'), systemClock);
    const config: Context['config'] = (options) => {
      if (this.#config === undefined) reportUntrusted(terminal, project);
      this.#config ??= resolveConfig({
        flags: { ...flags, input: !flags.noInput },
        env: host.env,
        store,
        project,
        allowMissingProfile: options?.newProfile ?? false,
      });
      return this.#config;
    };
    const timeout = flags.timeout ?? (storedSetting(store, 'timeout') as string | undefined);
    const limit = timeout === undefined ? undefined : parseDuration(timeout);
    this.context = {
      commands,
      terminal,
      prompter: createPrompter(terminal, { clock: systemClock, drafts }),
      drafts,
      env: host.env,
      cwd: currentFolder(host),
      paths,
      flags,
      clock: systemClock,
      signal: this.#controller.signal,
      deadline: limit === undefined ? undefined : steadyTime(systemClock) + limit,
      retryBudget: new RetryBudget(),
      store,
      project,
      launcher: {
        executable: host.execPath,
        command: host.argv[1] ? [host.execPath, host.argv[1]] : [host.execPath],
        platform: host.platform,
        nodeVersion: host.version.replace(/^v/, ''),
        pid: host.pid,
        kill: (pid, signal) => void host.kill(pid, signal),
        onHangup: (listener) => {
          host.on('SIGHUP', listener);
          return () => void host.removeListener('SIGHUP', listener);
        },
        endWithin: (milliseconds) => void setTimeout(() => host.exit?.(), milliseconds).unref(),
        usage: () => {
          const { rss, heapUsed } = host.memoryUsage();
          const { user, system } = host.cpuUsage();
          return { residentBytes: rss, heapBytes: heapUsed, cpuSeconds: (user + system) / 1e6 };
        },
      },
      format: flags.json ? 'json' : (flags.output ?? (storedSetting(store, 'output') as OutputFormat | undefined) ?? 'table'),
      config,
      client: () => {
        this.#client ??= import('../connect/connection.ts').then(({ connect }) => connect(this.context));
        return this.#client;
      },
      teamId: () => requireTeam(config()),
      readStandardInput: () => readAll(host, terminal),
    };
    const color = flags.color ?? (storedSetting(store, 'color') as ColorMode | undefined);
    terminal.configure({ input: !flags.noInput && storedSetting(store, 'prompt') !== false, ...(color === undefined ? {} : { color }) });
    host.on('SIGINT', this.#interrupt);
    host.on('SIGTERM', this.#terminate);
    terminal.brokenPipe.addEventListener('abort', this.#abandon);
    for (const warning of store.warnings) terminal.warn(warning);
    if (limit !== undefined) this.#startDeadline(limit, timeout as string);
  }

  /** The error to report: if an answer of the service is the reason for an unexpected one, an error that says what is wrong with it. */
  async explained(error: unknown): Promise<unknown> {
    if (!isUnexpected(error)) return error;
    const client = await this.#client?.catch(() => undefined);
    const { unfitAnswer } = await import('../../client/unfit-answer.ts');
    return unfitAnswer(client?.answers.last ?? [], error) ?? error;
  }

  /** Closes the client and removes the signal listeners. */
  async end(): Promise<void> {
    this.#endController.abort();
    this.#host.removeListener('SIGINT', this.#interrupt);
    this.#host.removeListener('SIGTERM', this.#terminate);
    this.context.terminal.brokenPipe.removeEventListener('abort', this.#abandon);
    await this.#client?.then((client) => client.close()).catch(() => undefined);
  }

  // The listener stays: libraries that restore the terminal end the process when theirs is the only listener.
  readonly #interrupt = (): void => {
    if (this.#controller.signal.aborted) {
      this.#host.removeListener('SIGINT', this.#interrupt);
      this.#host.kill(this.#host.pid, 'SIGINT');
      return;
    }
    this.#controller.abort(new AopsError('Interrupted.', { code: 'interrupted', exit: exitCodes.interrupted }));
  };
  readonly #terminate = (): void => {
    // A second signal means that the sender does not want to wait.
    if (this.#controller.signal.aborted) {
      this.#host.removeListener('SIGTERM', this.#terminate);
      this.#host.kill(this.#host.pid, 'SIGTERM');
      return;
    }
    this.#controller.abort(new AopsError('Terminated.', { code: 'terminated', exit: exitCodes.terminated }));
  };
  readonly #abandon = (): void => this.#controller.abort(new Error('the output is no longer read'));

  #startDeadline(milliseconds: number, timeout: string): void {
    const timeoutError = new AopsError(`The command did not finish within ${timeout}.`, {
      code: 'timeout',
      exit: exitCodes.timeout,
      hint: 'Allow more time with --timeout.',
    });
    systemClock.sleep(milliseconds, this.#endController.signal).then(
      () => this.#controller.abort(timeoutError),
      () => undefined,
    );
  }
}

const homeOf = ({ env, platform }: Host): string | undefined => homeFolder(env, platform);

/** The folders of this user. */
export const pathsOf = (host: Host): ConfigPaths => configPaths(host.env, homeOf(host), host.platform, currentFolder(host));

/** The `.aops.toml` that applies to the current directory. Almost no directory has one, so the code that reads it is loaded on demand. */
export async function projectOf(host: Host): Promise<Project | undefined> {
  const file = findProjectFile(currentFolder(host), homeOf(host));
  if (file === undefined) return undefined;
  const { readProject } = await import('../../config/project.ts');
  return readProject(file, new ConfigStore(pathsOf(host).config));
}

/** Tells people, but not scripts, that a file is ignored. */
function reportUntrusted(terminal: Terminal, project: Project | undefined): void {
  if (project?.untrusted === undefined || !terminal.err.isTTY) return;
  const reason = project.untrusted === 'new' ? 'you have not trusted it' : 'it has changed since you trusted it';
  terminal.note(`${sanitizeLine(project.file)} is ignored, because ${reason}. Read the file, then run \`aops config trust\` to use it.`);
}

/** A stored setting. A broken file is reported only when it is needed, so that commands that repair it still work. */
function storedSetting(store: ConfigStore, key: SettingKey): SettingValue | undefined {
  try {
    return store.setting(key);
  } catch {
    return undefined;
  }
}

async function readAll(host: Host, terminal: Terminal): Promise<Buffer> {
  if (terminal.in.isTTY && terminal.interactive) terminal.note('Reading from standard input. Press Ctrl-D to end it.');
  const chunks: Buffer[] = [];
  for await (const chunk of host.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}
