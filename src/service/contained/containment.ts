/**
 * Decides at which level the programs of runs are started, and confines each of them. The level is `off` until `start` has demonstrated
 * a higher one, so it is never overstated.
 */
import { lstat, realpath, stat } from 'node:fs/promises';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { ServiceError } from '../errors.ts';
import type { Lookup } from '../outbound/system-lookup.ts';
import { type ExecLevel, hostLauncher, type Launch, type Launcher, type LaunchLimits, type LaunchRequest } from '../sandbox/launch.ts';
import { bubblewrapArguments, environmentArguments, type Machine } from './bubblewrap.ts';
import { demonstrate } from './demonstration.ts';
import { findMachine, type MachineOptions } from './machine.ts';
import { OperatorRules } from './network/destinations.ts';
import { type OutletOptions, openOutlet } from './network/outlet.ts';
import type { Shortfall } from './shortfall.ts';
import { systemCallFilter } from './system-calls.ts';

/** `auto` means contained if that can be demonstrated, and off otherwise. */
export type ExecSetting = 'auto' | ExecLevel;

export interface ContainmentOptions extends MachineOptions {
  setting: ExecSetting;
  /** Hosts that programs can reach if their policy lists them, in the same format as for webhooks; `all` for the whole network. Default: `public`. */
  allow?: readonly string[] | undefined;
  /** The lookup of host names; by default, that of the system. */
  lookup?: Lookup | undefined;
}

const mebibyte = 1024 * 1024;
export const defaultLimits: LaunchLimits = {
  memory: 2_048 * mebibyte,
  processes: 512,
  fileSize: 1_024 * mebibyte,
  temporarySize: 256 * mebibyte,
};

export class Containment implements Launcher {
  readonly setting: ExecSetting;
  readonly #options: ContainmentOptions;
  #level: ExecLevel;
  readonly #outlets: Omit<OutletOptions, 'node'>;
  #machine: Machine | undefined;
  #shortfall: Shortfall | undefined;

  /** @throws UsageError `agent_host_invalid` */
  constructor(options: ContainmentOptions) {
    this.#outlets = { operator: new OperatorRules(options.allow ?? ['public']), lookup: options.lookup };
    this.setting = options.setting;
    this.#options = options;
    this.#level = options.setting === 'host' ? 'host' : 'off';
  }

  get level(): ExecLevel {
    return this.#level;
  }

  /** Why programs are not contained although that was requested, and what to do about it. */
  get shortfall(): Shortfall | undefined {
    return this.#shortfall;
  }

  /**
   * Demonstrates that programs are contained, with the service listening at an address of this machine.
   * @throws AopsError `containment_unavailable` if the setting is `contained`
   */
  async start(host: string, port: number): Promise<void> {
    if (this.setting !== 'auto' && this.setting !== 'contained') return;
    this.#outlets.service = { host, port };
    const machine = await findMachine(this.#options);
    const shortfall =
      'missing' in machine
        ? machine
        : await demonstrate((request) => confine(machine, request, this.#outlets), { ...this.#options, ...machine, host, port });
    if ('missing' in machine || shortfall !== undefined) return this.#fallBack(shortfall as Shortfall);
    this.#machine = machine;
    this.#level = 'contained';
  }

  #fallBack(shortfall: Shortfall): void {
    if (this.setting === 'contained') throw unavailable(shortfall);
    this.#shortfall = shortfall;
  }

  async prepare(request: LaunchRequest): Promise<Launch> {
    if (this.#level === 'host') return hostLauncher.prepare(request);
    if (this.#machine === undefined) throw new ServiceError(403, 'exec_off', this.refusal() as string);
    return confine(this.#machine, request, this.#outlets);
  }

  refusal(): string | undefined {
    if (this.#level !== 'off') return undefined;
    if (this.#shortfall === undefined)
      return 'This service does not run commands. Start it with `--exec auto` to run them contained, or with `--exec host` to run them as you, without isolation.';
    const { missing, remedy } = this.#shortfall;
    return `This service does not run commands, because they cannot be contained: ${missing}. ${remedy}`;
  }
}

async function confine(machine: Machine, request: LaunchRequest, outlets: Omit<OutletOptions, 'node'>): Promise<Launch> {
  for (const folder of new Set([request.directory, request.home, request.temporary])) await requireFolder(folder);
  for (const place of request.readable ?? []) await requirePublic(place);
  const outlet = await openOutlet(request, { ...outlets, node: machine.node });
  const limits = { ...defaultLimits, ...request.limits };
  const filter = systemCallFilter();
  const group = await machine.groups.create(limits);
  const release = async (): Promise<void> => {
    await group.remove();
    await outlet.close();
  };
  try {
    const command = [...outlet.command, request.program, ...request.args];
    return {
      level: 'contained',
      program: machine.bubblewrap,
      args: bubblewrapArguments(machine, request, {
        network: outlet.mounts,
        command,
        limits,
        limitsMemory: group.controllers.has('memory'),
        filtersSystemCalls: filter !== undefined,
      }),
      environment: {},
      secretInput: environmentArguments({ ...request.environment, ...outlet.environment }),
      ...(filter === undefined ? {} : { systemCallFilter: filter }),
      directory: request.directory,
      cgroups: group.joinFiles,
      ...(outlet.folder === undefined ? {} : { folder: outlet.folder }),
      ...(outlet.endpoint === undefined ? {} : { endpoint: outlet.endpoint }),
      release,
    };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Rejects a link, which would make its target visible. Commands at the level `host` could have replaced the folder with one. */
async function requireFolder(folder: string): Promise<void> {
  const stats = await lstat(folder).catch(() => undefined);
  if (!stats?.isDirectory()) throw new ServiceError(400, 'launch_refused', `${folder} is not a folder.`);
}

/** Rejects files that other users cannot read, such as keys: procedures can name any file, and the service might be able to read it. */
async function requirePublic(place: string): Promise<void> {
  const stats = await stat(place).catch(() => undefined);
  if (stats === undefined || (await realpath(place)) !== place)
    throw new ServiceError(400, 'launch_refused', `${place} does not exist, or is a link.`);
  const requiredMode = stats.isDirectory() ? 0o005 : 0o004;
  if ((stats.mode & requiredMode) !== requiredMode)
    throw new ServiceError(
      400,
      'launch_refused',
      `${place} is not readable by other users of this machine, so contained programs cannot use it. If it is not secret, change its mode with chmod.`,
    );
}

const unavailable = ({ missing, remedy }: Shortfall): AopsError =>
  new AopsError(`Commands cannot be contained on this machine: ${missing}.`, {
    code: 'containment_unavailable',
    exit: exitCodes.failure,
    hint: remedy,
  });
