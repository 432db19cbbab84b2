/**
 * Agents made by others, and how each is started without the internet, with a model server on the loopback interface. What the bundled
 * registry says about them is used here, too, so that these tests confirm it. Everything that an agent needs is in its environment, so
 * its HOME can be any empty folder. A HOME below /tmp prevents codex from running commands in its own sandbox; changes of files and
 * commands outside that sandbox, for which it requires permission, work.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { acpAgent } from '../../src/service/runtimes/acp/registry.ts';
import type { Missing } from '../support/requirements.ts';

export type AgentName = 'claude' | 'codex' | 'gemini' | 'opencode' | 'example';

export interface InstalledAgent {
  name: AgentName;
  /** Why it cannot be started; undefined if it can. */
  missing: Missing;
  command: readonly [program: string, ...args: string[]];
  /** The environment in addition to PATH and HOME. @param model the URL of the model server */
  environment(model: string): Record<string, string>;
  /** Files in addition to its program that it reads. */
  files?: readonly string[];
  /** The authentication method that has to be selected before the first session, if any. */
  authentication?: string;
  /** The session mode in which it requires permission for everything that can do harm; undefined if it has no modes. */
  strictestMode?: string;
  /** Whether it ends the turn with `cancelled` if a permission is rejected. */
  endsTurnOnRejection?: boolean;
  /** Whether it has stored a session with the call that writes a file, which can take longer than its request. By default, it has. */
  hasStored?(home: string, sessionId: string, written: string): Promise<boolean>;
  /** Makes it possible to continue the session immediately after the agent was killed, if it is not possible anyway. */
  letContinue?(home: string, sessionId: string): Promise<void>;
}

/** The definition of such an agent for a service, without its version. @param model the URL of the model server */
export const definitionOf = ({ command, environment, files = [] }: InstalledAgent, model: string) => ({
  ...{ command, files },
  environment: environment(model),
  network: [new URL(model).host],
});

/** The file of a session: the one in the folder whose name ends like this. */
async function sessionFile(folder: string, end: string): Promise<string | undefined> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const name = names.find((each) => each.endsWith(end));
  return name === undefined ? undefined : path.join(folder, name);
}

const modules = path.join(import.meta.dirname, 'node_modules');
/** The folder with their programs, for the search path. */
export const agentPrograms = path.join(modules, '.bin');
/** Not the key of anything; tests can look for it in places where keys must not appear. */
export const modelKey = 'loopback-model-key';

function installedAgent(name: AgentName, file: string, args: readonly string[]): Pick<InstalledAgent, 'name' | 'missing' | 'command'> {
  const program = path.join(modules, file);
  return {
    name,
    missing: existsSync(program) ? undefined : `${name} is not installed; run npm ci --ignore-scripts in test/agents`,
    command: file.endsWith('.js') ? [process.execPath, program, ...args] : [program, ...args],
  };
}

/** An agent of the registry. @param connection the variables that connect it with the model server at a URL */
function registeredAgent(name: AgentName, file: string, connection: (model: string) => Record<string, string>): InstalledAgent {
  const { asking, authentication, distribution, environment } = acpAgent(name);
  return {
    ...installedAgent(name, file, distribution.npx?.args ?? []),
    ...(authentication === null ? {} : { authentication }),
    ...(asking !== null && 'mode' in asking ? { strictestMode: asking.mode } : {}),
    environment: (model) => ({
      ...environment,
      ...(asking !== null && 'environment' in asking ? asking.environment : {}),
      ...connection(model),
    }),
  };
}

/**
 * Options of the JavaScript engine of claude and opencode. Their processes end long before it would pay off to collect garbage or to
 * optimise code, which takes a quarter of the CPU time of their start.
 */
const shortLived = { BUN_JSC_useGC: '0', BUN_JSC_useFTLJIT: '0' };

export const claude: InstalledAgent = {
  ...registeredAgent('claude', '@agentclientprotocol/claude-agent-acp/dist/index.js', (model) => ({
    ...shortLived,
    // It would try to reach the internet.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ANTHROPIC_BASE_URL: model,
    ANTHROPIC_API_KEY: modelKey,
  })),
  hasStored: async (home, sessionId, written) => {
    const file = await sessionFile(path.join(home, '.claude/projects'), `${sessionId}.jsonl`);
    if (file === undefined) return false;
    return (await readFile(file, 'utf8')).split('\n').some((line) => line.includes('"tool_use"') && line.includes(written));
  },
};

export const codex: InstalledAgent = {
  ...registeredAgent('codex', '@agentclientprotocol/codex-acp/dist/index.js', (model) => ({
    OPENAI_API_KEY: modelKey,
    MODEL_PROVIDER: 'loopback',
    CODEX_CONFIG: JSON.stringify({
      // Codex offers its tool for patches only to some models.
      model: 'gpt-5.5',
      model_provider: 'loopback',
      model_providers: { loopback: { name: 'loopback', base_url: `${model}/v1`, wire_api: 'responses', env_key: 'OPENAI_API_KEY' } },
    }),
  })),
  endsTurnOnRejection: true,
};

export const gemini: InstalledAgent = {
  ...registeredAgent('gemini', '@google/gemini-cli/bundle/gemini.js', (model) => ({
    GOOGLE_GEMINI_BASE_URL: model,
    GEMINI_API_KEY: modelKey,
    // Without a name, another model chooses one.
    GEMINI_MODEL: 'gemini-2.5-flash',
    // One process instead of two.
    GEMINI_CLI_NO_RELAUNCH: '1',
  })),
  // The minute is part of the file's name, and a process that loads a session in the minute in which it began overwrites it.
  letContinue: async (home, sessionId) => {
    const file = (await sessionFile(path.join(home, '.gemini/tmp'), `-${sessionId.slice(0, 8)}.jsonl`)) as string;
    await rename(file, file.replace(/session-[^/]*-(?=[0-9a-f]{8}\.jsonl$)/, 'session-2026-01-01T00-00-'));
  },
};

/** Its usual package would install the programs for two kinds of processors, and a launcher that needs an install script. */
const openCodeProgram = 'opencode-linux-x64/bin/opencode';

/** A catalogue of models without entries: opencode needs a second of CPU time for each session to process its own. */
const noModels = path.join(import.meta.dirname, 'no-models.json');

export const opencode: InstalledAgent = {
  ...registeredAgent('opencode', openCodeProgram, (model) => ({
    ...shortLived,
    OPENCODE_MODELS_PATH: noModels,
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      model: 'loopback/test',
      small_model: 'loopback/test',
      provider: {
        loopback: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${model}/v1`, apiKey: modelKey },
          models: { test: { tool_call: true } },
        },
      },
    }),
  })),
  files: [noModels],
};

/** The folders with the programs of these agents, by the names in the registry. */
export const programFolders: readonly string[] = [path.join(modules, path.dirname(openCodeProgram)), path.join(modules, '.bin')];

/** The example of the protocol's SDK: it needs no model and changes no file, but requires a permission in each turn, which takes 5 s. */
export const example: InstalledAgent = {
  ...installedAgent('example', 'acp-example-agent/dist/examples/agent.js', []),
  environment: () => ({}),
};

/** The agents that need a model. */
export const modelAgents: readonly InstalledAgent[] = [claude, codex, gemini, opencode];

/** The command of our own agent that misbehaves; misbehaving.js describes its modes. */
export const misbehaving = (mode: string): [string, string, string] => [
  process.execPath,
  path.join(import.meta.dirname, 'misbehaving.js'),
  mode,
];
