/** Secrets that an agent prints: their values must not be stored, and so appear nowhere. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { Run } from '../../../../src/interface/types.ts';
import { misbehaving } from '../../../agents/installed.ts';
import { AgentMachine } from '../../helpers/agent-machine.ts';

const value = 'sk-Example/0123+"4567"?';
const marker = '[secret EXAMPLE_KEY]';

/** A run of an agent in a mode that prints its secret. */
async function printing(mode: string): Promise<{ machine: AgentMachine; run: Run }> {
  const machine = await AgentMachine.start();
  const id = await machine.create({ command: misbehaving(mode), secrets: ['EXAMPLE_KEY'] });
  await machine.api.ok('setAgentSecret', { params: { agent_id: id }, body: { name: 'EXAMPLE_KEY', value } });
  const { run } = await machine.api.ok('startRun', { body: { agent_id: id, message: 'Hello' } });
  return { machine, run: await machine.until(run.id, 'waiting', 'completed', 'failed') };
}

/** The files of the service that contain the value in any form, except those of the run itself. */
async function filesWithSecret(machine: AgentMachine): Promise<string[]> {
  await machine.close();
  const forms = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), Buffer.from(value).toString('base64').slice(0, -4)];
  const entries = await readdir(machine.dataDirectory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const found: string[] = [];
  for (const file of files.filter((name) => !name.includes(`${path.sep}sandboxes${path.sep}`))) {
    const content = await readFile(file);
    if (forms.some((form) => content.includes(form))) found.push(file);
  }
  return found;
}

it('stores no secret that an agent prints in texts, tool calls, diffs, results, and questions', async () => {
  const { machine, run } = await printing('secrets');
  expect(run).toMatchObject({ status: 'waiting', error: null });
  const pending = await machine.pending(run);
  expect(pending.description).toContain(`+++ b/result.txt\n@@ -0,0 +1,2 @@\n+first line\n+key=${marker}`);
  expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'waiting', error: null });

  const form = await machine.pending(run);
  expect(form).toMatchObject({ type: 'question', title: `About ${marker}`, questions: [{ question: `Is it ${marker}?` }] });
  const answers = { [`Is it ${marker}?`]: 'yes' };
  expect(await machine.answer(run, { answers })).toMatchObject({ status: 'completed', error: null });
  expect((await machine.texts(run)).at(-1)).toBe('The answer was accept.');
  const messages = await machine.messages(run);
  const [thought, plan, text] = messages.filter(({ role }) => role === 'assistant').map(({ text_content: content }) => content);
  expect([thought, plan, text]).toEqual([`The key is ${marker}.`, `[ ] Use ${marker}`, `The key is ${marker}.`]);
  expect(messages.flatMap(({ tool_call: call }) => (call?.name === 'execute' ? [call.arguments] : []))).toEqual([
    { key: marker },
    { title: marker },
  ]);
  const results = messages.flatMap(({ tool_result: result }) => (result == null ? [] : [result]));
  // The last character in Base64 stands for two bits of the value.
  expect(results[1]?.result).toEqual({ text: `dXNlcjp${marker}w== ${marker} "${marker}"` });
  expect(await filesWithSecret(machine)).toEqual([]);
});

it.each([
  ['an error', 'secrets-error', `The agent reported an error while it was working: The key ${marker} is not valid.`],
  ['the standard error of an agent that ends', 'secrets-exit', 'The agent ended while it was working (exit code 3). It wrote:'],
])('stores no secret in %s, even if only its end is quoted', async (_, mode, message) => {
  const { machine, run } = await printing(mode);
  expect(run).toMatchObject({ status: 'failed', error: expect.stringContaining(message) });
  for (let length = 8; length <= value.length; length++) expect(run.error).not.toContain(value.slice(-length));
  expect(run.error).toContain('xxx');
  expect(await filesWithSecret(machine)).toEqual([]);
});

it('replaces the value that the process got, even if another one was stored while it waited', async () => {
  const { machine, run } = await printing('secrets');
  await machine.api.ok('setAgentSecret', {
    params: { agent_id: run.agent_id as string },
    body: { name: 'EXAMPLE_KEY', value: 'another value' },
  });
  expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'waiting' });
  expect((await machine.pending(run)).title).toBe(`About ${marker}`);
  expect(await filesWithSecret(machine)).toEqual([]);
});
