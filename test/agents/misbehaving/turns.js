/** The turns of the misbehaving agent. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { is, mode, never, ProtocolError, request, send } from './rpc.js';

/** The options of a permission, as [kind, name]; the kinds serve as IDs unless they are repeated. */
const optionsOf = {
  'lasting-only': [
    ['allow_always', 'Always allow'],
    ['reject_always', 'Never allow'],
  ],
  'two-allows': [
    ['allow_once', 'Allow, and format the file'],
    ['allow_once', 'Allow'],
    ['reject_once', 'Reject'],
  ],
  'no-options': [],
};
const usualOptions = [
  ['allow_always', 'Always allow'],
  ['allow_once', 'Allow'],
  ['reject_once', 'Reject'],
];
const options = (optionsOf[mode] ?? usualOptions).map(([kind, name], index) => ({ optionId: `option-${index}`, kind, name }));
const isAllowed = (outcome) => options.find(({ optionId }) => optionId === outcome?.optionId)?.kind.startsWith('allow') === true;

const writeTool = (file, text) => ({
  title: `Write ${file}`,
  kind: 'edit',
  rawInput: { path: file, content: text },
  locations: [{ path: path.resolve(file) }],
  content: [{ type: 'diff', path: path.resolve(file), oldText: null, newText: text }],
});

const promptsFile = (id) => path.join(process.env.HOME, `session-${id}.json`);

/** Writes the prompts of a session to the HOME of the agent. */
export const rememberPrompts = (id, prompts) => writeFileSync(promptsFile(id), JSON.stringify(prompts));

/** Reads them again; undefined if they are missing. */
export function rememberedPrompts(id) {
  try {
    return JSON.parse(readFileSync(promptsFile(id), 'utf8'));
  } catch {
    return undefined;
  }
}

/** The parts of a turn, each of which belongs to one session. */
export class Turn {
  constructor(session, prompt) {
    this.session = session;
    this.prompt = prompt;
    /** Whether it was cancelled; it sends nothing then. */
    this.over = false;
  }

  update(sessionUpdate, fields) {
    if (this.over) return;
    send({ method: 'session/update', params: { sessionId: this.session.id, update: { sessionUpdate, ...fields } } });
  }

  say(text) {
    this.update('agent_message_chunk', { content: { type: 'text', text } });
  }

  /** Asks for a permission to write a file, writes it if that is granted, and returns whether it did. */
  async write(file, text) {
    const toolCallId = `call-${this.session.calls++}`;
    const call = writeTool(file, text);
    if (!is('no-tool-call')) this.update('tool_call', { toolCallId, status: 'pending', ...call });
    if (this.session.asks) {
      const permissionRequest = request('session/request_permission', {
        sessionId: this.session.id,
        toolCall: { toolCallId, ...call },
        options,
      });
      if (is('exit-asking')) setImmediate(() => process.exit(3));
      const { outcome } = await permissionRequest;
      if (is('ignore-cancel', 'ignore-signals')) await never;
      if (!isAllowed(outcome) && !is('ignore-denial')) {
        this.update('tool_call_update', { toolCallId, status: 'failed' });
        return false;
      }
    }
    if (this.over) return false;
    writeFileSync(file, text);
    this.update('tool_call_update', { toolCallId, status: 'completed', rawOutput: { bytes: Buffer.byteLength(text) } });
    return true;
  }

  /** The usual turn. */
  async work() {
    this.update('agent_thought_chunk', { content: { type: 'text', text: 'The file has to be written.' } });
    this.plan('in_progress');
    this.say('I will write the file.');
    if (is('exit-in-turn')) process.exit(3);
    const text = this.session.resumed && is('asks-differently') ? `${this.prompt} Differently.` : this.prompt;
    const written = await this.write('result.txt', text);
    this.plan('completed');
    this.say(written ? ' I wrote result.txt.' : ' I did not write result.txt.');
    this.update('usage_update', { used: 1200, size: 200_000, cost: { amount: 0.0125, currency: 'USD' } });
  }

  /** Asks the person to fill in a form, and reports the answer. */
  async fillIn(message, requestedSchema) {
    this.say(JSON.stringify(await request('elicitation/create', { sessionId: this.session.id, mode: 'form', message, requestedSchema })));
  }

  plan(status) {
    this.update('plan', { entries: [{ content: 'Write the file', priority: 'high', status }] });
  }
}

const form = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', description: 'The name of the release' },
    number: { type: 'integer', title: 'Number', minimum: 1, maximum: 9 },
    channel: { type: 'string', title: 'Channel', enum: ['stable', 'beta'] },
    draft: { type: 'boolean', title: 'Draft' },
  },
  required: ['name', 'channel'],
};

const key = process.env.EXAMPLE_KEY ?? '';

/** A turn that prints the secret in everything that it sends. */
async function printSecret(turn) {
  turn.update('agent_thought_chunk', { content: { type: 'text', text: `The key is ${key}.` } });
  turn.update('plan', { entries: [{ content: `Use ${key}`, priority: 'high', status: 'pending' }] });
  for (const part of `The key is ${key}.`.match(/.{1,3}/gs)) turn.say(part);
  await turn.write('result.txt', `first line\nkey=${key}\n`);
  const encoded = [Buffer.from(`user:${key}`).toString('base64'), encodeURIComponent(key), JSON.stringify(key)];
  const content = [{ type: 'content', content: { type: 'text', text: encoded.join(' ') } }];
  turn.update('tool_call', { toolCallId: 'encode', title: 'Encode', kind: 'execute', status: 'in_progress', rawInput: { key } });
  turn.update('tool_call_update', { toolCallId: 'encode', status: 'completed', content });
  turn.update('tool_call', { toolCallId: 'fail', title: key, kind: 'execute', status: 'failed', rawOutput: key });
  const question = { type: 'object', properties: { [key]: { type: 'string', title: `Is it ${key}?` } } };
  const params = { sessionId: turn.session.id, mode: 'form', message: `About ${key}`, requestedSchema: question };
  const { action } = await request('elicitation/create', params);
  turn.say(` The answer was ${action}.`);
}

/** What happens in the turns of the modes that differ from the usual one, in which the turn works. */
export const turns = {
  text: (turn) => turn.say(`You wrote: ${turn.prompt}`),
  remembers(turn) {
    const { id } = turn.session;
    const prompts = [...rememberedPrompts(id), turn.prompt];
    rememberPrompts(id, prompts);
    writeFileSync('prompts.txt', prompts.join('\n'));
    turn.say(`You wrote: ${prompts.join(', ')}`);
  },
  'ignore-end': (turn) => turn.say('I am still here.'),
  slow: async (turn) => {
    turn.say('I am working.');
    await never;
  },
  'never-answers': () => never,
  error: () => {
    throw new ProtocolError(-32603, 'The model is overloaded.');
  },
  refusal: (turn) => turn.say('I will not do that.'),
  'token-limit': (turn) => turn.say('I begin.'),
  'no-stop-reason': (turn) => turn.say('I have nothing to do.'),
  unknown: async (turn) => {
    turn.update('confetti', { colour: 'red' });
    turn.update('agent_message_chunk', { content: { type: 'hologram', data: '…' } });
    send({ method: '_confetti/thrown', params: { sessionId: turn.session.id } });
    send({ method: 'confetti/thrown', params: {} });
    const answers = await Promise.all([request('_confetti/throw', {}), request('craft/drainMidTurnQueue', {})]);
    turn.say(JSON.stringify(answers.map(({ error }) => error?.code)));
  },
  'no-http': (turn) => turn.say(`You wrote: ${turn.prompt}`),
  tools: (turn) => useTools(turn),
  'other-session': (turn) => {
    new Turn({ ...turn.session, id: 'other' }, '').say('This is of another session.');
    turn.say('This is of this session.');
  },
  late: (turn) => {
    turn.say('I am done.');
    setImmediate(() => {
      turn.say(' Or not.');
      void turn.write('late.txt', 'Late');
    });
  },
  daemon: (turn) => startProcess(turn, 'daemon.pid', true),
  child: (turn) => startProcess(turn, 'child.pid', false),
  environment: (turn) => turn.say(JSON.stringify({ cwd: process.cwd(), names: Object.keys(process.env).sort() })),
  prompt: (turn) => turn.say(JSON.stringify({ prompt: turn.prompt, files: filesInHome() })),
  'links-folders': (turn) => turn.say(linkFolders()),
  'huge-line': (turn) => turn.say('x'.repeat(8 * 1024 * 1024)),
  'many-updates': (turn) => {
    for (let number = 1; number <= 5000; number++) turn.say(`${number} `);
  },
  noisy: async (turn) => {
    const line = `${'noise '.repeat(16)}\n`;
    const lines = Math.ceil((10 * 1024 * 1024) / line.length);
    await new Promise((resolve) => process.stderr.write(line.repeat(lines), resolve));
    turn.say('That was loud.');
  },
  secrets: printSecret,
  'secrets-error': () => {
    throw new ProtocolError(-32603, `The key ${key} is not valid.`, { key, text: `${'x'.repeat(1_990)}${key}` });
  },
  'secrets-exit': async () => {
    await new Promise((resolve) => process.stderr.write(`${key}${'x'.repeat(1_990)}`, resolve));
    process.exit(3);
  },
  'two-permissions': async (turn) => {
    const written = await Promise.all([turn.write('first.txt', 'First'), turn.write('second.txt', 'Second')]);
    turn.say(JSON.stringify(written));
  },
  questions: askQuestions,
  elicitation: (turn) => turn.fillIn('Which release is it?', form),
  'elicitation-empty': (turn) => turn.fillIn('Is there anything?', { type: 'object', properties: {} }),
};

const questions = [
  {
    question: 'Which colour?',
    header: 'Colour',
    multiSelect: false,
    options: [
      { label: 'Red', description: 'Warm' },
      { label: 'Blue', description: 'Cold' },
    ],
  },
  {
    question: 'Which shapes?',
    header: 'Shapes',
    multiSelect: true,
    options: [
      { label: 'Circle', description: 'Round' },
      { label: 'Square', description: 'Angular' },
    ],
  },
];

/** What Qwen Code 0.24.4 sends for its tool `ask_user_question`, and how it understands the response. */
async function askQuestions(turn) {
  const toolCall = {
    ...{ toolCallId: 'questions', status: 'pending', title: 'Ask user 2 questions', kind: 'think', content: [], locations: [] },
    rawInput: { questions },
    _meta: { toolName: 'ask_user_question', qwenInteractionKind: 'user_question', qwenQuestions: questions },
  };
  const submit = { optionId: 'proceed_once', name: 'Submit', kind: 'allow_once' };
  const cancel = { optionId: 'cancel', name: 'Cancel', kind: 'reject_once' };
  const response = await request('session/request_permission', { sessionId: turn.session.id, options: [submit, cancel], toolCall });
  const answers = Object.entries(response.answers ?? {}).map(([index, answer]) => `**${questions[index].header}**: ${answer}`);
  turn.update('tool_call_update', {
    ...{ toolCallId: 'questions', status: 'completed' },
    content: [{ type: 'content', content: { type: 'text', text: answers.join('\n') || 'No valid answers were provided.' } }],
  });
  turn.say(JSON.stringify(response));
}

function startProcess(turn, file, detached) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached, stdio: 'ignore' });
  child.unref();
  writeFileSync(file, String(child.pid));
  turn.say(`I started ${child.pid}.`);
}

function filesInHome() {
  const home = process.env.HOME;
  const files = readdirSync(home, { recursive: true }).filter((name) => statSync(path.join(home, name)).isFile());
  const contentOf = (name) => ({ text: readFileSync(path.join(home, name), 'utf8'), mode: statSync(path.join(home, name)).mode & 0o777 });
  return Object.fromEntries(files.sort().map((name) => [name, contentOf(name)]));
}

/** Relative links, which lead to the same place inside and outside of a sandbox. Returns the error of the attempt to write there. */
function linkFolders() {
  const program = path.dirname(process.argv[1]);
  const home = process.env.HOME;
  for (const name of ['tmp', ...readdirSync(home)]) {
    try {
      renameSync(path.join(home, name), path.join(home, `${name}.old`));
    } catch {
      // It does not exist, or cannot be replaced.
    }
    try {
      symlinkSync(path.relative(home, program), path.join(home, name));
    } catch {
      // It is still there.
    }
  }
  try {
    writeFileSync(path.join(program, 'written.txt'), 'outside');
    return 'written';
  } catch (error) {
    return error.code;
  }
}

/** Performs the elements of a prompt; after an interruption, those of the first prompt of the session again. */
async function useTools(turn) {
  const text = turn.prompt.match(/\[.*\]/s)?.[0] ?? readFileSync('prompt.json', 'utf8');
  writeFileSync('prompt.json', text);
  const results = [];
  for (const element of JSON.parse(text)) results.push(await perform(turn, element));
  turn.say(JSON.stringify(results));
}

async function perform(turn, element) {
  const [server] = turn.session.servers;
  if (element.servers) return writeFileSync('servers.json', JSON.stringify(turn.session.servers));
  if (element.wait) return await never;
  if (element.ask) return { written: await turn.write('result.txt', element.ask) };
  const headers = { ...Object.fromEntries(server.headers.map(({ name, value }) => [name, value])), ...element.headers };
  if (element.reveal) return headers.Authorization;
  if (element.fetch) return await answerOf(await fetch(new URL(element.fetch, server.url), { headers, method: element.method ?? 'GET' }));
  const revealed = { name: 'remember', arguments: { path: element.revealTo, content: headers.Authorization } };
  const { method = 'tools/call', name, arguments: args } = element.revealTo === undefined ? element : revealed;
  const answer = await fetch(server.url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: name === undefined ? {} : { name, arguments: args ?? {} } }),
  });
  const { status, body } = await answerOf(answer);
  return body.result ?? { status, ...body };
}

async function answerOf(response) {
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}
