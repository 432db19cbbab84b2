/** The board of runs on a real terminal. */
import { beforeAll, expect, it } from 'vitest';
import { kill, Machine } from '../support/machine.ts';
import { keys } from '../support/screen.ts';

const enterAlternate = '\u001b[?1049h';
const leaveAlternate = '\u001b[?1049l';

/** What must follow the last time that a board was drawn: alternate screen, cursor, line wrapping, bracketed paste. */
const restored = [leaveAlternate, '\u001b[?25h', '\u001b[?7h', '\u001b[?2004l'];

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  await machine.json('local', 'up', '--ephemeral');
  await machine.agent('payer', '- approve: { id: pay, title: "Pay {{message}}?" }\n- say: "paid {{message}}"');
});

it('shows runs at 80x24, opens a transcript, answers, stops after a confirmation, and ends with the named runs', async () => {
  const [first, second] = [await machine.startRun('payer'), await machine.startRun('payer')];
  const board = machine.terminalOf({ columns: 80, rows: 24 }, 'runs', 'watch', first, second);
  // Typed before anything is on the screen, these keys must not stop or answer anything.
  board.type('xy\r', 'a\r');
  await board.shows('2 runs: 2 waiting');
  expect((await board.rows()).filter((row) => row.includes('payer'))).toHaveLength(2);
  board.type(keys.enter);
  await board.shows('q back');
  board.type('q');
  await board.shows('q leave');
  // Erasing the rest of a row after a line of 80 columns would erase its last character.
  const update = board.raw.slice(board.raw.lastIndexOf('\u001b[?2026h'));
  expect(
    update
      .split('\u001b[K')
      .slice(0, -1)
      .every((text) => text.endsWith(';1H')),
    update,
  ).toBe(true);
  board.type('a');
  await board.asks('Leave it pending');
  board.type(keys.down, keys.enter);
  await board.shows('1 waiting, 1 completed');
  board.type('g', 'x');
  await board.shows('Stop #');
  board.type('y', keys.enter);
  expect(await board.exit).toBe(11);
  const rest = board.raw.slice(board.raw.lastIndexOf(leaveAlternate));
  expect(rest).toContain('2 runs: ');
  expect(rest).toContain('1 interrupted');
});

it('fills 120x40 with the runs that match, adds new ones, and leaves the terminal as it was on Ctrl-C', async () => {
  await machine.agent('asker', '- approve: { id: go, title: "Go on?" }');
  await machine.startRun('asker');
  const board = machine.terminalOf({ columns: 120, rows: 40 }, 'runs', 'watch', '--agent', 'asker');
  await board.shows('1 run: 1 waiting');
  await machine.startRun('asker');
  await board.shows('2 runs: 2 waiting');
  const rows = await board.rows();
  expect(rows).toHaveLength(40);
  expect(rows.at(-1)).toContain('Enter transcript');
  board.type(keys.ctrlC);
  expect(await board.exit).toBe(130);
  expect(board.raw.indexOf(enterAlternate)).toBeGreaterThanOrEqual(0);
  for (const sequence of [leaveAlternate, '\u001b[?25h', '\u001b[?2004l'])
    expect(board.raw.lastIndexOf(sequence)).toBeGreaterThan(board.raw.lastIndexOf(enterAlternate));
  expect(board.text).toContain('Detached. 2 runs: 2 waiting');
});

it('restores the terminal on SIGTERM, and on Ctrl-Z until the job continues', async () => {
  await machine.agent('sleeper', '- approve: { id: go, title: "Wake up?" }');
  await machine.startRun('sleeper');
  const hasUsualSettings = /[^-]isig.*\s[^-]*icanon[\s\S]*[^-]echo /;
  const shell = machine.screen('sh', ['-im'], { columns: 80, rows: 24 });
  const isRestored = (): boolean => restored.every((sequence) => shell.raw.lastIndexOf(sequence) > shell.raw.lastIndexOf(enterAlternate));
  shell.type('aops runs watch --agent sleeper\r');
  await shell.shows('1 run: 1 waiting');
  shell.type(keys.ctrlZ);
  await shell.shows('Stopped');
  expect(isRestored()).toBe(true);
  shell.type('stty -a\r');
  await shell.shows(hasUsualSettings);
  shell.type('jobs -p\r');
  const line = /jobs -p\n\D*(\d+)\n/;
  await shell.shows(line);
  const pid = Number(line.exec(shell.text)?.[1]);
  shell.type('fg\r');
  await shell.shows('q leave');
  expect(isRestored()).toBe(false);
  // Keys count again soon after the board was drawn: at the latest when it has been updated twice, once a second.
  for (let updates = 0; updates < 3; updates += 1) await shell.shows(/waiting +\d+s/);
  shell.type('?');
  await shell.shows('Press any key to go back');
  kill(pid, 'SIGTERM');
  await shell.shows('Detached. 1 run: 1 waiting');
  shell.type('echo code $?; stty -a\r');
  await shell.shows('code 143');
  await shell.shows(hasUsualSettings);
  expect(isRestored()).toBe(true);
});
