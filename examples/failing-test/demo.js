#!/usr/bin/env node
/**
 * A coding agent works on a git repository with a failing test: it finds the mistake, asks for permission to correct it, and the change is
 * applied to the repository. On a terminal you answer; elsewhere answers.yaml does. Nothing is left behind.
 *
 *   npm run demo:agent [-- NAME]
 *
 * NAME is `claude`, `codex`, or `gemini`: a real agent, which must be installed, and whose API key must be in the environment. Without
 * a name, the first of them for which both is true is used. If there is none, agent.js is used, which contains no language model.
 */
import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { demonstrate, someoneIsHere } from '../support.js';

/** The agents that can be used, with the settings that are passed on. The first setting of each names the server of its model. */
const settings = {
  claude: ['ANTHROPIC_BASE_URL', 'ANTHROPIC_MODEL'],
  codex: ['OPENAI_BASE_URL', 'CODEX_CONFIG', 'MODEL_PROVIDER'],
  gemini: ['GOOGLE_GEMINI_BASE_URL', 'GEMINI_MODEL'],
};
/** Prints the failed tests, and how many passed and failed. */
const testCommand = "node --test --test-reporter=tap | grep -E '^(not ok|# (pass|fail))'";
const message = 'A test fails. Correct the mistake in src, and run `node --test` again.';

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const [requested] = process.argv.slice(2);
const names = Object.keys(settings);
if (requested !== undefined && requested !== 'example' && !names.includes(requested)) {
  console.error(`error: "${requested}" is not one of the agents of this demonstration: ${names.join(', ')}, and example.`);
  process.exit(2);
}

await demonstrate(async ({ aops, must, mustWithInput, read, shell, cd, home }) => {
  const repository = path.join(home, 'shop');
  await createRepository(repository);
  console.error('\nA repository with a failing test:');
  cd(repository);
  await shell(testCommand);

  await must('local', 'up', '--ephemeral');
  if (JSON.parse(await read('local', 'status', '--json')).exec === 'off') {
    console.error('\nThis machine cannot contain programs, so the agent runs as you, like every program that you start:');
    await must('local', 'down');
    await must('local', 'up', '--ephemeral', '--exec', 'host');
  }

  const { data } = JSON.parse(await read('agents', 'acp', 'list', '--json', '--quiet'));
  const agent = chooseAgent(data);
  if (agent?.problem !== undefined) {
    console.error(`\nerror: ${agent.problem}`);
    return 2;
  }
  if (agent === undefined) {
    console.error(`
The agent is agent.js of this example. It contains no language model: it tries
small changes until the tests pass. To use Claude Code instead, export
ANTHROPIC_API_KEY, and install its adapter:
npm install --global @agentclientprotocol/claude-agent-acp`);
    await must('agents', 'create', 'fixer', '--acp-command', `node "${file('agent.js')}"`);
  } else {
    console.error(`\nThe agent is ${agent.name}. It uses ${agent.key} of your environment, which can cost money.`);
    await mustWithInput(
      process.env[agent.key],
      'agents',
      'create',
      'fixer',
      '--acp',
      agent.id,
      '--secret',
      `${agent.key}=@-`,
      ...agent.flags,
    );
  }

  const answers = someoneIsHere ? ['--watch'] : ['--answers', file('answers.yaml')];
  const code = await aops('runs', 'start', '--agent', 'fixer', '--repo', '.', '--message', message, ...answers);
  if (code !== 0) return code;
  await must('sandbox', 'diff', '@latest');
  if ((await read('sandbox', 'diff', '@latest', '--name-only', '--quiet')) === '') {
    console.error('\nThe agent changed nothing, so the test still fails.');
    return someoneIsHere ? 0 : 1;
  }
  await must('sandbox', 'apply', '@latest');
  return /^# fail 0$/m.test(await shell(testCommand)) ? 0 : 1;
});

/** The commands of git do not depend on the configuration of this machine. */
async function createRepository(folder) {
  await cp(file('repository'), folder, { recursive: true });
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const git = (...args) => promisify(execFile)('git', args, { cwd: folder, env });
  await git('init', '--quiet', '--initial-branch=main');
  await git('config', 'user.name', 'Demonstration');
  await git('config', 'user.email', 'demo@example.com');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'Add the shipping charge');
}

/** The requested agent, or the first that is installed and has a key; why the requested one cannot be used; undefined for agent.js. */
function chooseAgent(registered) {
  if (requested === 'example') return undefined;
  for (const id of requested === undefined ? names : [requested]) {
    const { name, status, credentials, install_command: install } = registered.find((each) => each.alias === id || each.id === id);
    const key = credentials.find((variable) => process.env[variable]);
    if (status === 'installed' && key !== undefined) return { id, name, key, flags: flagsOf(id) };
    if (requested !== undefined && status !== 'installed')
      return { problem: `${name} is not installed. To install it, run \`${install}\`.` };
    if (requested !== undefined) return { problem: `${name} needs an API key. Export it as ${credentials.join(' or ')}.` };
  }
  return undefined;
}

function flagsOf(id) {
  const present = settings[id].filter((name) => process.env[name]);
  const server = process.env[settings[id][0]];
  return [
    ...present.flatMap((name) => ['--env', `${name}=${process.env[name]}`]),
    ...(server ? ['--allow-host', new URL(server).host] : []),
  ];
}
