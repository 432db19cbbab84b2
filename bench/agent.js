#!/usr/bin/env node
/**
 * An agent with a fixed amount of work, for the benchmark of agents. It speaks the Agent Client Protocol like one with a model that
 * generates text at a constant speed, however fast its updates are read.
 *
 *   node bench/agent.js MILLISECONDS UPDATES   a turn of this duration, with evenly spread updates: texts, and tool calls with diffs
 *   node bench/agent.js ask                    asks for permission to write a file, and ends its turn when that is answered
 */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

const asks = process.argv[2] === 'ask';
const [duration, updates] = process.argv.slice(2).map(Number);
/** Every update with a multiple of this number is a tool call. */
const callInterval = 20;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const update = (sessionId, fields) => send({ method: 'session/update', params: { sessionId, update: fields } });

const text = Array.from({ length: 40 }, (_, line) => `const line${line} = ${line};\n`).join('');
const call = (number) => ({
  toolCallId: `call-${number}`,
  title: `Edit file${number}.js`,
  kind: 'edit',
  rawInput: { path: `file${number}.js`, number },
  content: [{ type: 'diff', path: path.resolve(`file${number}.js`), oldText: text, newText: text.replace('line7', `other${number}`) }],
});

async function work(sessionId) {
  const startedAt = performance.now();
  for (let number = 1; number <= updates; number += 1) {
    await setTimeout(startedAt + (duration * number) / updates - performance.now());
    if (number % callInterval === 0) update(sessionId, { sessionUpdate: 'tool_call', status: 'in_progress', ...call(number) });
    else if (number % callInterval === 1 && number > 1)
      update(sessionId, { sessionUpdate: 'tool_call_update', toolCallId: `call-${number - 1}`, status: 'completed' });
    else update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'a few words of the text ' } });
  }
}

let answered;

function ask(sessionId) {
  const options = [
    { optionId: 'allow', kind: 'allow_once', name: 'Allow' },
    { optionId: 'reject', kind: 'reject_once', name: 'Reject' },
  ];
  send({ id: 'permission', method: 'session/request_permission', params: { sessionId, toolCall: call(1), options } });
  return new Promise((resolve) => {
    answered = resolve;
  });
}

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: 'bench', version: '1' },
    agentCapabilities: { sessionCapabilities: { resume: {} }, mcpCapabilities: { http: true } },
  }),
  'session/new': () => ({ sessionId: randomUUID() }),
  'session/resume': () => ({}),
  'session/prompt': async ({ sessionId }) => {
    await (asks ? ask(sessionId) : work(sessionId));
    return { stopReason: 'end_turn' };
  },
};

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === undefined) answered?.();
    else if (id !== undefined) send({ id, result: await methods[method](params) });
  })
  .on('close', () => process.exit());
