/**
 * Agents made by others, and how each is started without the internet, with a model server on the loopback interface. Everything that
 * an agent needs is in its environment, so its HOME can be any empty folder. A HOME below /tmp prevents codex from running
 * commands in its own sandbox; changes of files and commands outside that sandbox, for which it requires permission, work.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import type { Missing } from '../support/requirements.ts';

export type AgentName = 'claude' | 'codex' | 'gemini' | 'opencode' | 'example';

export interface InstalledAgent {
  name: AgentName;
  /** Why it cannot be started; undefined if it can. */
  missing: Missing;
  command: readonly [program: string, ...args: string[]];
  /** The environment in addition to PATH and HOME. @param model the URL of the model server */
  environment(model: string): Record<string, string>;
  /** The authentication method that has to be selected before the first session, if any. */
  authentication?: string;
  /** The session mode in which it requires permission for everything that can do harm; undefined if it has no modes. */
  strictestMode?: string;
  /** Whether it closes the turn with `cancelled` if a permission is rejected. */
  endsTurnOnRejection?: boolean;
}

const modules = path.join(import.meta.dirname, 'node_modules');
/** Not the key of anything; tests can look for it in places where keys must not appear. */
export const modelKey = 'loopback-model-key';

function installed(
  name: AgentName,
  file: string,
  rest: Omit<InstalledAgent, 'name' | 'missing' | 'command'>,
  args: string[] = [],
): InstalledAgent {
  const program = path.join(modules, file);
  return {
    name,
    missing: existsSync(program) ? undefined : `${name} is not installed; run npm ci --ignore-scripts in test/agents`,
    command: file.endsWith('.js') ? [process.execPath, program, ...args] : [program, ...args],
    ...rest,
  };
}

export const claude = installed('claude', '@agentclientprotocol/claude-agent-acp/dist/index.js', {
  strictestMode: 'default',
  environment: (model) => ({
    ANTHROPIC_BASE_URL: model,
    ANTHROPIC_API_KEY: modelKey,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    // Otherwise it exits without a message if the user is root.
    IS_SANDBOX: '1',
  }),
});

export const codex = installed('codex', '@agentclientprotocol/codex-acp/dist/index.js', {
  strictestMode: 'read-only',
  endsTurnOnRejection: true,
  environment: (model) => ({
    NO_BROWSER: '1',
    // In its usual mode it asks a model instead of a person.
    INITIAL_AGENT_MODE: 'read-only',
    MODEL_PROVIDER: 'loopback',
    LOOPBACK_KEY: modelKey,
    CODEX_CONFIG: JSON.stringify({
      // Codex offers its tool for patches only to some models.
      model: 'gpt-5.5',
      model_provider: 'loopback',
      model_providers: { loopback: { name: 'loopback', base_url: `${model}/v1`, wire_api: 'responses', env_key: 'LOOPBACK_KEY' } },
    }),
  }),
});

export const gemini = installed(
  'gemini',
  '@google/gemini-cli/bundle/gemini.js',
  {
    authentication: 'gemini-api-key',
    strictestMode: 'default',
    environment: (model) => ({
      GOOGLE_GEMINI_BASE_URL: model,
      GEMINI_API_KEY: modelKey,
      // Without a name, another model chooses one.
      GEMINI_MODEL: 'gemini-2.5-flash',
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_CLI_NO_RELAUNCH: '1',
    }),
  },
  ['--acp'],
);

/** The package contains a launcher for each platform; its install script would replace the one that it starts. */
const openCodeBinary = `opencode-${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}/bin/opencode`;

export const opencode = installed(
  'opencode',
  openCodeBinary,
  {
    environment: (model) => ({
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      // Otherwise it installs a package for plugins.
      OPENCODE_PURE: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        permission: { bash: 'ask', edit: 'ask' },
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
    }),
  },
  ['acp'],
);

/** The example of the protocol's SDK: it needs no model and changes no file, but requires a permission in each turn, which takes 5 s. */
export const example = installed('example', 'acp-example-agent/dist/examples/agent.js', { environment: () => ({}) });

/** The agents that need a model. */
export const modelAgents: readonly InstalledAgent[] = [claude, codex, gemini, opencode];

/** The command of our own agent that misbehaves; misbehaving.js describes its modes. */
export const misbehaving = (mode: string): [string, string, string] => [
  process.execPath,
  path.join(import.meta.dirname, 'misbehaving.js'),
  mode,
];
