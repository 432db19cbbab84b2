#!/usr/bin/env node
/**
 * A small agent that repairs JavaScript whose tests fail. It contains no language model: it runs the tests, finds the files that the
 * failing ones import, and tries changes of one operator or number in a copy until all tests pass. Then it asks for permission to make
 * that change. It speaks the Agent Client Protocol on its standard streams, so aops runs it like Claude Code or Codex:
 *
 *   aops agents create fixer --acp-command "node $PWD/examples/failing-test/agent.js"
 *
 * It is one file that needs only Node, because a contained agent sees only the files in its command.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';

/** The time limit for a file with tests, in milliseconds: a change can cause an endless loop. */
const testLimit = 5_000;
/** How many changes are tried. */
const maxAttempts = 200;

// The protocol: one JSON-RPC message per line.

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

let requests = 0;
const pending = new Map();

/** Sends a request to the client, and resolves to its result. */
function request(method, params) {
  const id = ++requests;
  send({ id, method, params });
  return new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
}

const sessions = new Map();

function openSession(id, { cwd }) {
  sessions.set(id, { id, folder: cwd, turn: undefined });
  return { sessionId: id };
}

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: 'repair-by-trial', title: 'Repair by trial', version: '1.0.0' },
    // A turn depends only on the files, so a session needs no storage to be resumed.
    agentCapabilities: { loadSession: false, sessionCapabilities: { resume: {} }, promptCapabilities: {} },
    authMethods: [],
  }),
  'session/new': (params) => openSession(randomUUID(), params),
  'session/resume': (params) => {
    openSession(params.sessionId, params);
    return {};
  },
  'session/prompt': async ({ sessionId }) => {
    const session = sessions.get(sessionId);
    if (session === undefined) throw new Error(`There is no session ${sessionId}.`);
    session.turn = new Turn(session);
    return { stopReason: await session.turn.perform() };
  },
  'session/cancel': ({ sessionId }) => sessions.get(sessionId)?.turn?.cancel(),
};

async function receive(line) {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) {
    const { resolve, reject } = pending.get(id) ?? {};
    pending.delete(id);
    return error === undefined ? resolve?.(result) : reject?.(new Error(error.message));
  }
  if (methods[method] === undefined) return id === undefined || send({ id, error: { code: -32601, message: 'Method not found' } });
  try {
    const answer = await methods[method](params);
    if (id !== undefined) send({ id, result: answer });
  } catch (failure) {
    if (id !== undefined) send({ id, error: { code: -32603, message: failure.message } });
  }
}

// The work.

class Turn {
  #session;
  #cancellation = new AbortController();
  #calls = 0;

  constructor(session) {
    this.#session = session;
  }

  cancel() {
    this.#cancellation.abort();
  }

  /** Resolves to the reason why the turn ended. */
  async perform() {
    try {
      await this.#repair();
      return 'end_turn';
    } catch (error) {
      if (this.#cancellation.signal.aborted) return 'cancelled';
      throw error;
    }
  }

  async #repair() {
    const { folder } = this.#session;
    const before = await this.#runTests();
    if (before.passed) return this.#say(`${summaryOf(before)} There is nothing to repair.`);
    if (before.failures.length === 0) return this.#say(`The tests could not be run:\n\n${before.output}`);
    this.#say(`${summaryOf(before)}\n\n${before.failures.map(({ name, reason }) => `- ${name}: ${reason}`).join('\n')}`);
    const { attempts, change } = await this.#search(before);
    if (change === undefined) return this.#say(`None of ${attempts} changes makes the tests pass, so I changed nothing.`);
    if (!(await this.#makeChange(change))) return this.#say('I changed nothing.');
    const after = await this.#runTests();
    const file = path.relative(folder, change.file);
    this.#say(`${summaryOf(after)} I replaced \`${change.from}\` with \`${change.to}\` in line ${change.line} of ${file}.`);
  }

  async #runTests() {
    const { folder } = this.#session;
    const call = this.#beginCall({ title: 'node --test', kind: 'execute', status: 'in_progress', rawInput: { command: 'node --test' } });
    const result = await runTests(folder, this.#cancellation.signal);
    call.finish(result.passed || result.failures.length > 0, summaryOf(result));
    return result;
  }

  /** Tries changes in a copy of the repository. */
  async #search({ failures }) {
    const { folder } = this.#session;
    const suspects = await suspectsOf(failures.map(({ file }) => path.resolve(folder, file)));
    const names = suspects.map((file) => path.relative(folder, file));
    const call = this.#beginCall({
      title: `Try changes in ${names.join(', ')}`,
      kind: 'think',
      status: 'in_progress',
      rawInput: { files: names },
    });
    const copy = await mkdtemp(path.join(tmpdir(), 'repair-'));
    try {
      await cp(folder, copy, { recursive: true, filter: (source) => !['.git', 'node_modules'].includes(path.basename(source)) });
      let attempts = 0;
      for (const change of await changesOf(suspects)) {
        if (attempts === maxAttempts) break;
        attempts += 1;
        const place = path.join(copy, path.relative(folder, change.file));
        await writeFile(place, change.newText);
        const { passed } = await runTests(copy, this.#cancellation.signal);
        await writeFile(place, change.oldText);
        if (!passed) continue;
        call.finish(true, `Change ${attempts} makes all tests pass.`);
        return { attempts, change };
      }
      call.finish(true, `None of ${attempts} changes makes all tests pass.`);
      return { attempts };
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  }

  /** Changes the file if a person permits it. Returns whether it did. */
  async #makeChange({ file, line, from, to, oldText, newText }) {
    const name = path.relative(this.#session.folder, file);
    const call = this.#beginCall({
      title: `Edit ${name}`,
      kind: 'edit',
      status: 'pending',
      rawInput: { path: name, line, from, to },
      locations: [{ path: file, line }],
      content: [{ type: 'diff', path: file, oldText, newText }],
    });
    const options = [
      { optionId: 'allow', kind: 'allow_once', name: 'Allow' },
      { optionId: 'reject', kind: 'reject_once', name: 'Reject' },
    ];
    const { outcome } = await request('session/request_permission', { sessionId: this.#session.id, toolCall: call.description, options });
    this.#cancellation.signal.throwIfAborted();
    const isAllowed = outcome.outcome === 'selected' && outcome.optionId === 'allow';
    if (isAllowed) await writeFile(file, newText);
    call.finish(isAllowed, isAllowed ? 'Written.' : 'A person rejected the change.');
    return isAllowed;
  }

  /** Reports a tool call, and returns it with a function that reports its end. */
  #beginCall(fields) {
    const description = { toolCallId: `${randomUUID().slice(0, 8)}-${++this.#calls}`, ...fields };
    this.#update({ sessionUpdate: 'tool_call', ...description });
    const finish = (succeeded, text) =>
      this.#update({
        sessionUpdate: 'tool_call_update',
        toolCallId: description.toolCallId,
        status: succeeded ? 'completed' : 'failed',
        content: [...(fields.content ?? []), { type: 'content', content: { type: 'text', text } }],
      });
    return { description, finish };
  }

  #say(text) {
    this.#update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  #update(update) {
    send({ method: 'session/update', params: { sessionId: this.#session.id, update } });
  }
}

const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

function summaryOf({ passed, failures, total }) {
  if (passed) return `All ${plural(total, 'test')} pass.`;
  return failures.length === 0 ? 'The tests could not be run.' : `${failures.length} of ${plural(total, 'test')} failed.`;
}

/** Runs the tests in a folder. Rejects with the signal's reason. */
async function runTests(cwd, signal) {
  // The variable would make a test runner of Node believe that it was started by another one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', '--test-reporter=tap', `--test-timeout=${testLimit}`];
  const child = spawn(process.execPath, args, { cwd, env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk) => {
      output += chunk;
    });
  const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  const total = Number(/^# tests (\d+)$/m.exec(output)?.[1] ?? 0);
  return { passed: code === 0, total, failures: failuresIn(output, cwd), output };
}

/** The failed tests in output of the format TAP (Test Anything Protocol): their names, files, and the first lines of their errors. */
function failuresIn(output, folder) {
  const failure = /^ *not ok \d+ - (?<name>.*)\n *---\n(?<details>[\s\S]*?)\n *\.\.\.$/gm;
  return [...output.matchAll(failure)].flatMap(({ groups: { name, details } }) => {
    const file = /^ *location: '(.*?):\d+:\d+'$/m.exec(details)?.[1];
    const value = (field) => new RegExp(`^ *${field}: (.*)$`, 'm').exec(details)?.[1];
    const [expected, actual] = [value('expected'), value('actual')];
    // What a file prints when it cannot be loaded is a comment.
    const printed = /^# (\w*Error.*)$/m.exec(output)?.[1];
    const reason = actual === undefined ? (printed ?? value('error') ?? 'it failed') : `expected ${expected}, got ${actual}`;
    // A file with failed tests is reported as another failure in some versions of Node.
    return file === undefined || /failureType: 'subtestsFailed'/.test(details)
      ? []
      : [{ name: name.replace(`${folder}/`, ''), file, reason }];
  });
}

/** The files that these files import with relative paths, directly and indirectly, nearest first. Files that cannot be read are left out. */
async function suspectsOf(testFiles) {
  const queue = [...new Set(testFiles)];
  const seen = new Set(queue);
  const readable = [];
  for (const file of queue) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    readable.push(file);
    for (const [, name] of text.matchAll(/\bfrom\s+'(\.{1,2}\/[^']+)'/g)) {
      const imported = path.resolve(path.dirname(file), name);
      if (!seen.has(imported)) queue.push(imported);
      seen.add(imported);
    }
  }
  return readable.filter((file) => !testFiles.includes(file));
}

/** Alternatives for each operator, by how often such mistakes are made. */
const alternatives = [
  { '<': ['<=', '>'], '<=': ['<', '>='], '>': ['>=', '<'], '>=': ['>', '<='], '===': ['!=='], '!==': ['==='], '==': ['!='], '!=': ['=='] },
  { '&&': ['||'], '||': ['&&'], '??': ['||'], true: ['false'], false: ['true'] },
  {
    '+': ['-'],
    '-': ['+'],
    '*': ['/'],
    '/': ['*'],
    '+=': ['-='],
    '-=': ['+='],
    floor: ['ceil', 'round'],
    ceil: ['floor', 'round'],
    round: ['floor', 'ceil'],
  },
];

/** Comments and texts come first in the pattern, so that nothing in them counts as an operator. */
const tokens =
  /\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|=>|[=!]==?|[<>]=?|&&|\|\||\?\?|[-+]=|[-+*/]|\b(?:true|false|floor|ceil|round)\b|\b\d+\b/g;

/** Every change of one operator in these files, and after them every change of a number by one. */
async function changesOf(files) {
  const found = [[], [], [], []];
  for (const file of files) {
    const oldText = await readFile(file, 'utf8');
    for (const { 0: from, index } of oldText.matchAll(tokens)) {
      const group = /^\d/.test(from) ? 3 : alternatives.findIndex((map) => Object.hasOwn(map, from));
      const replacements = group === 3 ? [Number(from) + 1, Number(from) - 1] : (alternatives[group]?.[from] ?? []);
      for (const to of replacements) {
        const newText = oldText.slice(0, index) + to + oldText.slice(index + from.length);
        found[group].push({ file, line: oldText.slice(0, index).split('\n').length, from, to: String(to), oldText, newText });
      }
    }
  }
  return found.flat();
}

createInterface({ input: process.stdin })
  .on('line', (line) => void receive(line))
  .on('close', () => process.exit(0));
