#!/usr/bin/env node
/**
 * An agent that misbehaves on request, for tests: `node misbehaving.js MODE`. It speaks the Agent Client Protocol (version 1) over its
 * standard input and output, needs no packages and no model, and does nothing at random.
 *
 * Unless the mode says otherwise, a turn consists of a thought, a plan, a text, a tool call with a diff, for which it requires a
 * permission, and which writes the text of the prompt to `result.txt` in the working directory, a text that says what it did, and its
 * usage. It can resume and load sessions, but remembers nothing of them. `session/cancel` ends the turn.
 *
 * Starting
 *   exit-at-start      exits with 1 after a message on standard error
 *   never-initialize   never answers `initialize`
 *   other-protocol     answers `initialize` with version 99 of the protocol
 *   login-required     rejects new sessions until the client has authenticated with `api-key`
 *   login-impossible   rejects new sessions, and authentication
 *
 * Turns
 *   well-behaved       as described above
 *   text               answers with one text, without a tool
 *   slow               sends a text and waits until it is cancelled; then the turn ends as it should
 *   exit-in-turn       exits with 3 after its first text
 *   exit-asking        exits with 3 while its permission is open
 *   never-answers      sends nothing after it received the prompt
 *   error              answers the prompt with an error
 *   refusal            ends the turn with the stop reason `refusal`
 *   token-limit        ends the turn with the stop reason `max_tokens`
 *   no-stop-reason     answers the prompt with null
 *   unknown            sends updates, notifications and requests that the protocol does not define, and reports the answers in a text
 *   other-session      sends an update of a session that does not exist
 *   late               sends a text and asks for a permission after its turn has ended
 *   ignore-cancel      ignores `session/cancel` while its permission is open, and after it was answered
 *   ignore-denial      writes the file although its permission was denied
 *   ignore-signals     additionally ignores SIGTERM and the end of its standard input
 *   ignore-end         answers with one text, and ignores SIGTERM and the end of its standard input
 *   daemon             starts a process in a session of its own that outlives it, with its ID in `daemon.pid`
 *   child              starts a process in its own process group, with its ID in `child.pid`
 *   environment        reports its working directory and the names of its environment variables as JSON
 *   prompt             reports the whole prompt, and the files in its HOME with their texts and permissions as JSON
 *   links-folders      replaces the folders in its HOME with links to the folder of its program, tries to write there, and reports the error
 *   secrets            prints the value of EXAMPLE_KEY in everything that it sends, in several forms
 *   secrets-error      answers the prompt with an error that contains it
 *   secrets-exit       prints it on standard error, followed by 1,990 characters, and exits with 3
 *
 * Output
 *   not-json           writes lines that are not JSON, or not JSON-RPC, before and during the turn
 *   noisy              writes 10 MiB to standard error
 *   huge-line          sends a text of 8 MiB in one line
 *   many-updates       sends 5,000 updates as fast as it can
 *
 * Permissions and questions
 *   two-permissions    asks for two permissions at the same time, and writes `first.txt` and `second.txt`
 *   lasting-only       offers only the options allow_always and reject_always
 *   two-allows         offers two options of the kind allow_once, with different names
 *   no-options         offers no option
 *   no-tool-call       asks for a permission without having sent the tool call
 *   questions          asks two questions in the form of a permission, as Qwen Code does, and reports the response as JSON
 *   elicitation        asks for a text, a number, a choice and a yes or no in a form, and reports the answer as JSON
 *   elicitation-empty  asks for nothing in a form, and reports the answer as JSON
 *   cancels-later      as well-behaved, but ends its second prompt with the stop reason `cancelled`
 *
 * Modes: each session starts in the first one
 *   asks-nobody        modes `auto` and `ask`: asks for a permission only in the mode `ask`
 *   asks-nobody-config the same as a configuration option of the category `mode`
 *   asks-nobody-only   only the mode `auto`
 *
 * Tools: the prompt is a JSON array, whose elements are performed in order. A text reports the results as JSON
 *   tools              calls its MCP server: `{"method":"tools/list"}`, or `{"name":"get_case","arguments":{}}` for a tool. `{"ask":"TEXT"}`
 *                      writes a file with the usual permission, `{"fetch":"PATH"}` requests another path of the server with the same
 *                      headers, `{"servers":true}` writes the servers as the client passed them to `servers.json`, and `{"wait":true}`
 *                      waits until the turn is cancelled. `{"reveal":true}` reports its token, and `{"revealTo":"PATH"}` remembers it
 *   no-http            cannot use MCP servers over HTTP, and answers with one text
 *
 * Sessions
 *   remembers          keeps the prompts of a session in its HOME, repeats the earlier ones, and resumes no session without them
 *   no-resume          can neither resume nor load sessions
 *   load-only          can load sessions, but not resume them; sends the first turn again while it loads
 *   load-fails         claims to load sessions, and fails
 *   load-hangs         claims to load sessions, and never answers
 *   asks-differently   asks for a permission with other arguments after it has resumed a session
 *   asks-no-more       ends the turn without asking after it has resumed a session
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { is, mode, never, ProtocolError, serve } from './misbehaving/rpc.js';
import { rememberedPrompts, rememberPrompts, Turn, turns } from './misbehaving/turns.js';

const sessions = new Map();
const authenticationRequired = () => new ProtocolError(-32000, 'Authentication required');

function writeGarbage() {
  process.stdout.write('Debugger attached.\n\n{"jsonrpc":\n[]\n42\n"text"\n{"id":9999,"result":{}}\n');
}

const modesOf = {
  'asks-nobody': ['auto', 'ask'],
  'asks-nobody-only': ['auto'],
  prompt: ['default', 'read-only'],
};
const modeNames = { auto: 'Automatic', ask: 'Ask for permissions' };
const modeOption = (value) => ({
  id: 'approvals',
  name: 'Approvals',
  category: 'mode',
  type: 'select',
  currentValue: value,
  options: ['auto', 'ask'].map((id) => ({ value: id, name: modeNames[id] })),
});

/** What the answer to a new, resumed or loaded session contains about modes. */
function sessionModes() {
  if (is('asks-nobody-config')) return { configOptions: [modeOption('auto')] };
  const ids = modesOf[mode];
  return ids === undefined
    ? {}
    : { modes: { currentModeId: ids[0], availableModes: ids.map((id) => ({ id, name: modeNames[id] ?? id })) } };
}

function openSession(id, isResumed, servers) {
  sessions.set(id, { id, resumed: isResumed, servers, calls: 1, prompts: 0, asks: !mode.startsWith('asks-nobody'), end: undefined });
  return sessions.get(id);
}

/** How turns end unless they are cancelled. */
const stopReasons = { refusal: 'refusal', 'token-limit': 'max_tokens' };

let isAuthenticated = false;

const methods = {
  initialize: () =>
    is('never-initialize')
      ? never
      : {
          protocolVersion: is('other-protocol') ? 99 : 1,
          agentInfo: { name: 'misbehaving', title: 'Misbehaving agent', version: '1.2.3' },
          agentCapabilities: {
            loadSession: !is('no-resume'),
            sessionCapabilities: is('no-resume', 'load-only', 'load-fails', 'load-hangs') ? {} : { resume: {} },
            promptCapabilities: {},
            ...(is('no-http') ? {} : { mcpCapabilities: { http: true } }),
          },
          authMethods: mode.startsWith('login') ? [{ id: 'api-key', name: 'API key', description: 'Set EXAMPLE_API_KEY.' }] : [],
        },
  authenticate: () => {
    if (is('login-impossible')) throw new ProtocolError(-32603, 'EXAMPLE_API_KEY is not set.');
    isAuthenticated = true;
    return {};
  },
  'session/new': ({ mcpServers }) => {
    if (mode.startsWith('login') && !isAuthenticated) throw authenticationRequired();
    const { id } = openSession(randomUUID(), false, mcpServers);
    if (is('remembers')) rememberPrompts(id, []);
    return { sessionId: id, ...sessionModes() };
  },
  'session/resume': ({ sessionId, mcpServers }) => {
    if (is('no-resume', 'load-only', 'load-fails', 'load-hangs')) throw new ProtocolError(-32601, 'Method not found');
    if (is('remembers') && rememberedPrompts(sessionId) === undefined) throw new ProtocolError(-32002, 'The session was not found');
    openSession(sessionId, true, mcpServers);
    return sessionModes();
  },
  'session/load': ({ sessionId, mcpServers }) => {
    if (is('no-resume')) throw new ProtocolError(-32601, 'Method not found');
    if (is('load-fails')) throw new ProtocolError(-32603, 'Invalid session identifier');
    if (is('load-hangs')) return never;
    const turn = new Turn(openSession(sessionId, true, mcpServers), '');
    turn.update('user_message_chunk', { content: { type: 'text', text: 'The first prompt' } });
    turn.say('The first answer');
    return sessionModes();
  },
  'session/set_mode': ({ sessionId, modeId }) => {
    if (!modesOf[mode]?.includes(modeId)) throw new ProtocolError(-32602, `There is no mode ${modeId}.`);
    sessions.get(sessionId).asks = modeId === 'ask';
    return {};
  },
  'session/set_config_option': ({ sessionId, value }) => {
    sessions.get(sessionId).asks = value === 'ask';
    return { configOptions: [modeOption(value)] };
  },
  'session/prompt': async ({ sessionId, prompt }) => {
    const session = sessions.get(sessionId);
    if (session === undefined) throw new ProtocolError(-32002, `There is no session ${sessionId}.`);
    const turn = new Turn(session, prompt.map((block) => block.text ?? '').join(''));
    if (is('not-json')) writeGarbage();
    const cancellation = new Promise((resolve) => {
      session.end = () => {
        turn.over = true;
        resolve('cancelled');
      };
    });
    if (session.resumed && is('asks-no-more')) return { stopReason: 'end_turn' };
    session.prompts += 1;
    if (is('cancels-later') && session.prompts > 1) return { stopReason: 'cancelled' };
    const work = Promise.resolve((turns[mode] ?? (() => turn.work()))(turn)).then(() => stopReasons[mode] ?? 'end_turn');
    if (is('no-stop-reason')) return await work.then(() => null);
    return { stopReason: await Promise.race([work, cancellation]), usage: { inputTokens: 1000, outputTokens: 200, totalTokens: 1200 } };
  },
  'session/cancel': ({ sessionId }) => {
    if (!is('ignore-cancel', 'ignore-signals')) sessions.get(sessionId)?.end?.();
  },
};

const documentedModes = [...readFileSync(process.argv[1], 'utf8').matchAll(/^ \* {3}([a-z-]+) /gm)].map(([, name]) => name);
if (!documentedModes.includes(mode)) {
  process.stderr.write(`There is no mode ${mode}. The modes are ${documentedModes.join(', ')}.\n`);
  process.exit(2);
}
if (is('exit-at-start')) {
  process.stderr.write('The configuration file is damaged.\n');
  process.exit(1);
}
if (is('not-json')) writeGarbage();
if (is('ignore-signals', 'ignore-end')) {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 60_000);
}
serve(methods, () => {
  if (!is('ignore-signals', 'ignore-end')) process.exit(0);
});
