/**
 * The interface between the programs that runs start (commands of `exec` steps, agents) and their confinement: a request contains what a
 * program needs, and a launcher returns what to spawn so that the program gets no more than that.
 */
import { markerName, newMarker } from './strays.ts';

/** `contained`: confined as demonstrated at the start; `host`: as the user of the service, without confinement; `off`: not at all. */
export type ExecLevel = 'contained' | 'host' | 'off';

/**
 * What a contained program can connect to. At the level `host`, programs reach everything that the user reaches.
 * - `none`: nothing
 * - `hosts`: names (`api.example.com`, `*.example.com`), addresses, ranges, and `public`, each with an optional port. Without a port, they
 *   are reached at 80 and 443 through a proxy that the environment names. A loopback host with a port (`127.0.0.1:11434`) is reached
 *   under the same address. Hosts that the operator does not allow are refused, whatever the list contains.
 * - `all`: the network of the host, including programs that listen on this machine
 */
export type NetworkPolicy = { kind: 'none' } | { kind: 'hosts'; hosts: readonly string[] } | { kind: 'all' };

/** Limits of a contained program and everything that it starts. Limits that the machine cannot enforce have no effect. */
export interface LaunchLimits {
  /** Memory in bytes: of all processes together if there is a writable cgroup, and otherwise of the data of each process. */
  memory: number;
  /** Processes and threads. */
  processes: number;
  /** The size of a file that it writes, in bytes. */
  fileSize: number;
  /** The size of /tmp and of /dev/shm, in bytes. */
  temporarySize: number;
}

/** A URL of the service that a program can send requests to. */
export interface ProgramEndpoint {
  url: string;
  /**
   * The value of the Authorization header. A launcher leaves it out if the connection of the program adds it: the program then does not
   * know the token, and cannot reveal it.
   */
  authorization?: string;
}

export interface LaunchRequest {
  program: string;
  args: readonly string[];
  /** The whole environment. No variables of the service are added; a contained program also gets the URL of its proxy. */
  environment: Readonly<Record<string, string>>;
  /** The working directory, an absolute path. The program can write in it. */
  directory: string;
  /** HOME, which the program can write to. It can be the same as the working directory. */
  home: string;
  /** A folder for TMPDIR. */
  temporary: string;
  /**
   * Additional files and folders that the program can read, such as its installation: real paths, outside the data directory or in the
   * folder of the run. A contained program cannot use files that other users cannot read.
   */
  readable?: readonly string[];
  /** Additional folders that the program can write to. They must exist. */
  writable?: readonly string[];
  /** `none` by default. */
  network?: NetworkPolicy;
  /** The MCP endpoint of the service, for an agent. A contained program reaches no other path of the service. */
  endpoint?: ProgramEndpoint | undefined;
  limits?: Partial<LaunchLimits>;
  /** Whether the program can create user namespaces, for agents that confine their own commands. */
  nestedSandboxes?: boolean;
}

/** What to spawn. `startProcess` does so, and releases it after the end. */
export interface Launch {
  level: Exclude<ExecLevel, 'off'>;
  program: string;
  args: readonly string[];
  /**
   * The environment of the process that is spawned. It is empty for a contained program, which gets its own through `secretInput`:
   * with variables such as LD_PRELOAD, it could otherwise choose the code of a process outside the sandbox.
   */
  environment: Readonly<Record<string, string>>;
  /** What the spawned process reads from descriptor 5, without it being visible in its arguments. */
  secretInput?: string;
  /** What the spawned process reads from descriptor 6: a filter for the system calls of the program. */
  systemCallFilter?: Buffer;
  directory: string;
  /** Files of cgroups to which a process writes its ID before it becomes the program. */
  cgroups: readonly string[];
  /** A temporary folder that is removed if the service dies. */
  folder?: string;
  /** The value of the variable that marks the program and everything that it starts, at the level `host`. */
  marker?: string;
  /** How the program reaches the endpoint that was requested; undefined if it cannot. */
  endpoint?: ProgramEndpoint;
  /** Ends the connections of the program, and removes what was created for it. */
  release(): Promise<void>;
}

export interface Launcher {
  readonly level: ExecLevel;
  /** Why programs cannot be started, as sentences that say what to do; undefined if they can. */
  refusal(): string | undefined;
  /** Throws ServiceError 403 `exec_off`, and 400 `launch_refused` for a request that the level in force does not permit. */
  prepare(request: LaunchRequest): Promise<Launch>;
}

/** The endpoint for a program that connects to the service itself. Programs do not know the certificate of a service with TLS. */
export const directEndpoint = (endpoint: ProgramEndpoint | undefined): { endpoint?: ProgramEndpoint } =>
  endpoint === undefined || endpoint.url.startsWith('https:') ? {} : { endpoint };

/** The level `host`: spawns the program itself, with a variable by which its processes are found. */
export const hostLauncher: Launcher = {
  level: 'host',
  refusal: () => undefined,
  async prepare({ program, args, environment, directory, endpoint }) {
    const marker = newMarker();
    return {
      ...{ level: 'host', program, args, environment: { ...environment, [markerName]: marker }, directory, cgroups: [], marker },
      ...directEndpoint(endpoint),
      release: async () => undefined,
    };
  },
};

/** A launcher that does something with the level before it prepares a program. */
export const launchAfter = (launcher: Launcher, prepareFor: (level: ExecLevel) => Promise<void>): Launcher => ({
  level: launcher.level,
  refusal: () => launcher.refusal(),
  async prepare(request) {
    const launch = await launcher.prepare(request);
    try {
      await prepareFor(launch.level);
      return launch;
    } catch (error) {
      await launch.release();
      throw error;
    }
  },
});
