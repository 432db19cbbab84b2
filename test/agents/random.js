#!/usr/bin/env node
/**
 * An agent that sends anything, for tests: `node random.js SEED`. It speaks the Agent Client Protocol over its standard input and output:
 * updates, permissions, and questions, many of which the protocol does not allow, and lines that are no messages. It can exit at any time.
 * What it does depends on the seed, and on what it has done before; its state is in its HOME, so that another process continues. The
 * arguments of each call for which it asks contain a word of their own, and `permissions.ndjson` in its HOME has the answers.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { ProtocolError, request, send, serve } from './misbehaving/rpc.js';

const seed = Number(process.argv[2]);
const stateFile = path.join(process.env.HOME, 'state.json');
const state = existsSync(stateFile)
  ? JSON.parse(readFileSync(stateFile, 'utf8'))
  : { random: seed, calls: 0, sessions: 0, session: undefined, open: [] };

/** The generator of `test/support/random.ts`, whose state survives the process here. */
function random() {
  state.random = (state.random + 0x6d2b79f5) | 0;
  let hash = Math.imul(state.random ^ (state.random >>> 15), 1 | state.random);
  hash = (hash + Math.imul(hash ^ (hash >>> 7), 61 | hash)) ^ hash;
  writeFileSync(stateFile, JSON.stringify(state));
  return ((hash ^ (hash >>> 14)) >>> 0) / 2 ** 32;
}

const oneOf = (values) => values[Math.floor(random() * values.length)];
const isTimeFor = (probability) => random() < probability;

const unexpected = () =>
  oneOf([
    null,
    42,
    -1,
    1e308,
    true,
    '',
    'text',
    '\ud800',
    'x'.repeat(5_000),
    [],
    [null],
    {},
    { type: 'text' },
    { type: 'unknown', text: 1 },
  ]);
const text = () =>
  oneOf([
    'Hello.',
    ' more',
    '',
    '\n\n',
    '# Title\n',
    '```',
    '\u001b]0;title\u0007',
    '\u202eleft',
    'a\r\nb',
    'long '.repeat(5_000),
    '{{ x }}',
  ]);
const file = () => oneOf(['a.txt', 'src/b.ts', '../c', '/etc/passwd', path.resolve('a.txt'), path.resolve('new/d'), '', '.', 'two\nlines']);
const makersOfContent = [
  () => ({ type: 'text', text: text() }),
  () => ({ type: 'image', data: 'aGk=', mimeType: 'image/png' }),
  () => ({ type: 'resource_link', uri: 'file:///etc/passwd', name: text() }),
  () => ({ type: 'resource', resource: { uri: 'file:///x', text: text() } }),
  unexpected,
];
const content = () => oneOf(makersOfContent)();
const makersOfResults = [
  () => ({ type: 'content', content: content() }),
  () => ({ type: 'diff', path: file(), oldText: oneOf([null, 'old\n', text()]), newText: oneOf(['new\n', text()]) }),
  () => ({ type: 'terminal', terminalId: 'terminal' }),
  unexpected,
];
const result = () => oneOf(makersOfResults)();
const callIds = ['1', '2', '3', ''];
const kinds = ['read', 'edit', 'delete', 'execute', 'fetch', 'switch_mode', 'other', 'unknown', null];

/** Some of the fields of a tool call. */
function callFields() {
  const makers = {
    title: () => oneOf(['Edit a.txt', 'Run `ls`', '', text()]),
    kind: () => oneOf(kinds),
    status: () => oneOf(['pending', 'in_progress', 'completed', 'failed', 'unknown', null]),
    content: () => oneOf([[], [result()], [result(), result()], null, unexpected()]),
    locations: () => oneOf([[], [{ path: file(), line: 3 }], null, unexpected()]),
    rawInput: () => oneOf([{ command: text() }, { path: file(), content: text() }, unexpected()]),
    rawOutput: () => oneOf([{ output: text() }, unexpected()]),
  };
  return Object.fromEntries(Object.entries(makers).flatMap(([name, make]) => (isTimeFor(0.5) ? [[name, make()]] : [])));
}

const update = (sessionUpdate, fields) =>
  send({
    method: 'session/update',
    params: { sessionId: isTimeFor(0.97) ? state.session : 'another', update: { sessionUpdate, ...fields } },
  });

const option = (optionId, kind) => ({ optionId, kind, name: kind });
const listsOfOptions = [
  [option('y', 'allow_once'), option('n', 'reject_once')],
  [option('a', 'allow_always'), option('r', 'reject_always')],
  [option('y', 'allow_once'), option('z', 'allow_once'), option('n', 'reject_once')],
  [option('y', 'allow_once')],
  [option('n', 'reject_once')],
  [option('s', 'allow_once'), option('s', 'reject_once')],
  [option('q', 'unknown')],
  [],
];

/** Asks for a permission, at times with the same arguments as before a process ended. */
async function askPermission() {
  const repeated = isTimeFor(0.25) ? oneOf(state.open) : undefined;
  const word = repeated?.word ?? `word-${++state.calls}-of-${seed}`;
  const inputs = [{ command: word, more: text() }, { path: file(), content: word, all: true }, { a: [{ b: word }] }, word];
  const fields = isTimeFor(0.5) ? { content: [result()], kind: oneOf(kinds), locations: [{ path: file() }] } : {};
  const toolCall = repeated?.toolCall ?? {
    toolCallId: oneOf(callIds),
    title: oneOf(['Edit', 'Run', text()]),
    rawInput: oneOf(inputs),
    ...fields,
  };
  const options = repeated?.options ?? (isTimeFor(0.9) ? oneOf(listsOfOptions) : unexpected());
  if (repeated === undefined) state.open.push({ word, toolCall, options });
  const { outcome } = await request('session/request_permission', { sessionId: state.session, toolCall, options });
  state.open = state.open.filter((each) => each.word !== word);
  // If an ID names several options, any of them may be meant.
  const chosen = Array.isArray(options) ? options.filter((each) => each !== null && each.optionId === outcome?.optionId) : [];
  const isAllowed = chosen.some(({ kind }) => kind.startsWith('allow'));
  appendFileSync(path.join(process.env.HOME, 'permissions.ndjson'), `${JSON.stringify({ word, isAllowed })}\n`);
}

const schemas = [
  {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'boolean' }, c: { type: 'string', enum: ['x', 'y'] } },
    required: ['a'],
  },
  { type: 'object', properties: { a: null } },
];
const lines = ['{', 'not JSON', '[]', '42', 'null', '{"id":9}', '{"jsonrpc":"2.0","id":77,"result":{}}', '{"jsonrpc":"2.0","method":5}'];

const actions = [
  () => update('agent_message_chunk', { content: { type: 'text', text: text() } }),
  () => update('agent_message_chunk', { content: content() }),
  () => update('agent_thought_chunk', { content: content() }),
  () => update('user_message_chunk', { content: content() }),
  () => update('tool_call', { toolCallId: oneOf(callIds), title: 'Call', ...callFields() }),
  () => update('tool_call_update', { toolCallId: oneOf(callIds), ...callFields() }),
  () => update('tool_call_update', { toolCallId: oneOf(callIds), ...callFields() }),
  () => update('plan', { entries: oneOf([[], [{ content: text(), priority: 'high', status: 'pending' }], unexpected()]) }),
  () => update('usage_update', { used: oneOf([1, unexpected()]), size: oneOf([9, unexpected()]), cost: unexpected() }),
  () => update('current_mode_update', { currentModeId: unexpected() }),
  () => update(oneOf(['unknown', 1, null]), callFields()),
  () => send({ method: 'session/update', params: oneOf([undefined, null, [], {}, { sessionId: state.session, update: null }]) }),
  () => process.stdout.write(`${oneOf(lines)}\n`),
  () => process.stderr.write(text()),
  // Nothing that this client offers.
  () => void request(oneOf(['fs/write_text_file', 'terminal/create', 'unknown']), oneOf([{}, null, { path: file(), content: 'x' }])),
  () => request('elicitation/create', { sessionId: state.session, mode: 'form', message: text(), requestedSchema: oneOf(schemas) }),
  () => request('elicitation/create', unexpected()),
  ...[askPermission, askPermission, askPermission, askPermission],
  () => delay(5),
];

let cancel = () => undefined;

async function work(cancellation) {
  const concurrentWork = [];
  for (let count = Math.floor(random() * 14); count > 0; count--) {
    const action = oneOf(actions)();
    if (isTimeFor(0.2)) concurrentWork.push(action);
    else await Promise.race([action, cancellation]);
    if (isTimeFor(0.015)) process.exit(oneOf([0, 3]));
  }
  if (isTimeFor(0.8)) await Promise.race([Promise.all(concurrentWork), cancellation]);
}

/** Some seeds also answer requests with anything. */
const answer = (value) => (seed % 4 === 0 && isTimeFor(0.15) ? unexpected() : value);

serve(
  {
    initialize: () =>
      answer({
        protocolVersion: 1,
        agentInfo: { name: 'random', version: '1' },
        agentCapabilities: { loadSession: seed % 3 === 0, sessionCapabilities: seed % 3 === 1 ? { resume: {} } : {} },
      }),
    'session/new': () => {
      state.session = `session-${++state.sessions}`;
      return answer({ sessionId: state.session, modes: answer(null), configOptions: answer(null) });
    },
    'session/resume': () => answer({}),
    'session/load': () => answer({}),
    'session/prompt': async () => {
      let isCancelled = false;
      const cancellation = new Promise((resolve) => {
        cancel = () => {
          isCancelled = true;
          resolve();
        };
      });
      await work(cancellation);
      if (isTimeFor(0.02)) throw new ProtocolError(-32603, text());
      const reason = isTimeFor(0.95) ? 'end_turn' : oneOf(['refusal', 'max_tokens', 'cancelled', 'unknown']);
      return answer({ stopReason: isCancelled ? 'cancelled' : reason });
    },
    'session/cancel': () => cancel(),
  },
  () => process.exit(),
);
