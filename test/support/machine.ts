/** A machine for end-to-end tests: separate folders, the real binary, and no processes left afterwards. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { HumanRequest, Run } from '../../src/interface/types.ts';
import { eventually } from './eventually.ts';
import { isAlive } from './processes.ts';
import type { Missing } from './requirements.ts';
import { type CliResult, runCli } from './run-cli.ts';
import { Screen, type ScreenSize } from './screen.ts';
import { folderEnv } from './service.ts';
import { temporaryFolder, whenDone } from './temporary.ts';

/** The project, and the program under test. AOPS_TEST_BIN selects another one: the launcher of an installed package, or an executable. */
export const project = fileURLToPath(new URL('../..', import.meta.url));
export const binary = path.resolve(process.env.AOPS_TEST_BIN ?? path.join(project, 'bin/aops.js'));
/** Whether the program is started by Node. The single-file executable contains Node. */
export const isScript = binary.endsWith('.js');

/** Required by tests that pass options to Node, or examine what only the launcher does. */
export const needsScript: Missing = isScript ? undefined : 'the executable is not started by Node';

/** The program to start for `aops ARGV`, and its arguments. */
export const commandLine = (...argv: readonly string[]): [program: string, args: string[]] =>
  isScript ? [process.execPath, [binary, ...argv]] : [binary, [...argv]];

/** Compiled code of the program, for the processes of all tests: they start a fifth faster, as they do on the machine of a user. */
export const codeCache = path.join(project, 'node_modules/.cache/aops-code');

export interface ProcessResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface StartedProcess {
  child: ChildProcess;
  finished: Promise<ProcessResult>;
  /** Resolves when stdout contains this text. */
  says(text: string): Promise<void>;
}

type WaitingRun = Run & { pending_human_request: HumanRequest | null };

export class Machine {
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly #pids = new Set<number>();

  private constructor(folder: string) {
    this.folder = folder;
    // Nothing from the environment of the tests, such as CI or NO_COLOR.
    this.env = {
      ...folderEnv(folder),
      PATH: `${path.join(folder, 'bin')}:${process.env.PATH}`,
      TMPDIR: path.join(folder, 'tmp'),
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
      NODE_COMPILE_CACHE: codeCache,
    };
    for (const name of ['home', 'bin', 'tmp']) mkdirSync(path.join(folder, name));
  }

  /** A new machine with `aops` on its PATH. */
  static async create(): Promise<Machine> {
    const machine = new Machine(await temporaryFolder());
    whenDone(() => machine.#end());
    // A link, not a script: a program that is open for writing cannot be started, and a forked process may keep it open.
    await symlink(binary, path.join(machine.folder, 'bin/aops'));
    return machine;
  }

  async file(name: string, content: string): Promise<string> {
    const file = path.join(this.folder, name);
    await writeFile(file, content);
    return file;
  }

  read(name: string): Promise<string> {
    return readFile(path.join(this.folder, name), 'utf8');
  }

  /** Runs `aops` until it ends. */
  aops(...argv: string[]): Promise<ProcessResult> {
    return this.start(...commandLine(...argv)).finished;
  }

  /** Runs `aops`, which must succeed, and returns its JSON output. */
  async json<Value>(...argv: string[]): Promise<Value> {
    const { code, stdout, stderr } = await this.aops(...argv, '--json');
    if (code !== 0) throw new Error(`aops ${argv.join(' ')} -> ${code}\n${stderr}`);
    return JSON.parse(stdout) as Value;
  }

  /**
   * Runs `aops` in the process of the tests, for what a test prepares or checks and does not test itself: another process would take 0.1 s
   * of CPU time. The service that `local up` starts is a process of its own. Its temporary folder would be that of the tests with
   * --ephemeral.
   */
  here(...argv: string[]): Promise<CliResult> {
    const [program, args] = commandLine();
    return runCli(argv, { cwd: this.folder, env: this.env, program: [program, ...args] });
  }

  /** The same for a command that must succeed. Returns its JSON output. */
  async hereJson<Value>(...argv: string[]): Promise<Value> {
    const result = await this.here(...argv, '--json');
    if (result.code !== 0) throw new Error(`aops ${argv.join(' ')} -> ${result.code}\n${result.stderr}`);
    return JSON.parse(result.stdout) as Value;
  }

  /** Runs a program, such as a shell with `aops` on its PATH, until it ends. */
  run(program: string, argv: readonly string[]): Promise<ProcessResult> {
    return this.start(program, argv).finished;
  }

  start(program: string, argv: readonly string[]): StartedProcess {
    const child = spawn(program, argv, { cwd: this.folder, env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#pids.add(child.pid as number);
    const output = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.stderr += text;
    });
    const finished = new Promise<ProcessResult>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        this.#pids.delete(child.pid as number);
        resolve({ code, ...output });
      });
    });
    const expectOutput = async (text: string): Promise<void> => {
      await eventually(`${program} says ${text}`, () => output.stdout.includes(text) || child.exitCode !== null);
      if (!output.stdout.includes(text)) throw new Error(`ended without printing ${text}:\n${output.stdout}\n${output.stderr}`);
    };
    return { child, finished, says: expectOutput };
  }

  /** Runs `aops` on a pseudo-terminal. */
  terminal(...argv: string[]): Screen {
    return this.screen(...commandLine(...argv));
  }

  /** The same on a pseudo-terminal of this size. */
  terminalOf(size: ScreenSize, ...argv: string[]): Screen {
    return this.screen(...commandLine(...argv), size);
  }

  /** Runs a program on a pseudo-terminal. */
  screen(program: string, argv: readonly string[], size: ScreenSize = {}): Screen {
    const screen = new Screen(program, argv, { cwd: this.folder, env: this.env, ...size });
    this.#pids.add(screen.pid);
    void screen.exit.then(() => this.#pids.delete(screen.pid));
    return screen;
  }

  /** Process ID of the local service that `aops local up` recorded, whether it is still running or not. */
  async servicePid(): Promise<number | undefined> {
    const state = await this.read('data/local.json').catch(() => undefined);
    return state === undefined ? undefined : (JSON.parse(state) as { pid: number }).pid;
  }

  /** Kills the local service like a power cut, and waits until it has ended. */
  async killService(): Promise<void> {
    const pid = await this.servicePid();
    if (pid === undefined) throw new Error('no service was started');
    kill(pid, 'SIGKILL');
    await eventually('the service has ended', () => !isAlive(pid));
    const { running, url, pid: owner } = await this.hereJson<Record<string, unknown>>('local', 'status');
    if (running !== false || url !== null || owner !== null) throw new Error('the service is still reported as running');
  }

  /** Creates an agent with these steps (YAML list items), and returns its name. */
  async agent(name: string, steps: string): Promise<string> {
    const file = await this.file(`${name}.yaml`, `version: 1\nsteps:\n${steps.trim().replace(/^/gm, '  ')}\n`);
    await this.hereJson('agents', 'create', name, '--procedure', file);
    return name;
  }

  /** Starts a run and returns its ID. */
  async startRun(agent: string, ...flags: string[]): Promise<string> {
    return (await this.hereJson<Run>('runs', 'start', '--agent', agent, ...flags)).id;
  }

  /** Starts a run through the service, and waits until it has this status. */
  async runUntil(agent: string, status: Run['status'], message?: string): Promise<Run> {
    const { team_id } = await this.#service();
    const { agents } = await this.request<{ agents: { id: string; name: string }[] }>('GET', `/teams/${team_id}/agents`);
    const agent_id = agents.find(({ name }) => name === agent)?.id;
    const { run } = await this.request<{ run: Run }>('POST', `/teams/${team_id}/runs`, { agent_id, message });
    await eventually(`run ${run.id} is ${status}`, async () => (await this.runStatus(run.id)) === status);
    return run;
  }

  /** The status of a run, from the service. */
  async runStatus(id: string): Promise<Run['status']> {
    return (await this.request<{ run: Run }>('GET', `/runs/${id}`)).run.status;
  }

  getRun(id: string): Promise<WaitingRun> {
    return this.hereJson<WaitingRun>('runs', 'get', id);
  }

  /**
   * A request to the local service, for what a test prepares or checks and does not test itself: each `aops` is a process.
   * @throws Error for an error status
   */
  async request<Value>(method: 'GET' | 'POST', route: string, body?: unknown): Promise<Value> {
    const { url, data_dir } = await this.#service();
    const token = await readFile(path.join(data_dir, 'token'), 'utf8');
    const response = await fetch(`${url}/v2${route}`, {
      method,
      headers: { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route} -> ${response.status} ${text}`);
    return JSON.parse(text) as Value;
  }

  /** Where the local service is, as `aops local up` recorded it. */
  async #service(): Promise<{ url: string; data_dir: string; team_id: string }> {
    return JSON.parse(await this.read('data/local.json'));
  }

  /** Ends all processes that were started here and are still running. */
  async #end(): Promise<void> {
    const service = await this.servicePid();
    for (const pid of [...this.#pids, ...(service === undefined ? [] : [service])]) kill(pid, 'SIGKILL');
    for (const pid of this.#pids) await eventually(`process ${pid} is gone`, () => !isAlive(pid));
  }
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
}
