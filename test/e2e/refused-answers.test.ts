/** Answers that are given too late at a real pseudo-terminal. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Forwarder } from '../support/forwarder.ts';
import { Machine } from '../support/machine.ts';
import { keys } from '../support/screen.ts';

it('saves an answer that is given during an outage in which another client answered', async () => {
  const machine = await Machine.create();
  const { url, data_dir } = await machine.json<{ url: string; data_dir: string }>('local', 'up', '--ephemeral');
  await machine.agent(
    'writer',
    '- ask: { id: note, title: "The release", questions: [{ question: "What changed?" }] }\n- say: "noted: {{ answers.note }}"',
  );
  const run = await machine.startRun('writer');
  // The person is connected through this proxy; the service stays reachable for other clients.
  const proxy = await Forwarder.to(url);
  machine.env.AOPS_BASE_URL = proxy.url;
  machine.env.AOPS_API_KEY = (await readFile(path.join(data_dir, 'token'), 'utf8')).trim();
  const watch = machine.terminal('runs', 'watch', run);
  delete machine.env.AOPS_BASE_URL;
  delete machine.env.AOPS_API_KEY;
  await watch.asks('What changed?');
  proxy.goDown();
  watch.type('a long answer', keys.enter);
  await watch.shows('Your answer will be sent once it is back.');
  expect((await machine.aops('runs', 'respond', run, '--answer', 'faster')).code).toBe(0);
  proxy.up = true;
  await watch.shows('The request had already been answered, so your answer was not used.');
  await watch.shows(/Your text was not sent\. It is saved in \S+unsent/);
  await watch.shows('noted: faster');
  expect(await watch.exit).toBe(0);
  expect(watch.text).not.toContain('Your answer was sent');
  const folder = path.join(machine.folder, 'data/unsent');
  const names = await readdir(folder);
  expect(names).toHaveLength(1);
  expect(await machine.read(`data/unsent/${names[0]}`)).toBe('a long answer\n');
});
