/** The prompts in this process: which keys choose, change, and confirm what. `prompts.test.ts` shows them in a real terminal. */
import { describe, expect, it } from 'vitest';
import { nextIndex } from '../../src/terminal/prompting/choose.ts';
import { decisionOf } from '../../src/terminal/prompting/confirm.ts';
import { answeredView, type Base, clipLines, headingView, keyHelp } from '../../src/terminal/prompting/view.ts';
import type { Prompter } from '../../src/terminal/prompts.ts';
import { failureOf } from '../client/harness.ts';
import { openPrompt as open } from '../support/open-prompts.ts';

const [upKey, downKey, home, end] = ['\u001b[A', '\u001b[B', '\u001b[H', '\u001b[F'] as const;
const [pageUp, pageDown] = ['\u001b[5~', '\u001b[6~'] as const;
const enter = '\r';

const choices = ['Alpha', 'Beta', 'Gamma'].map((name, index) => ({ value: index + 1, name, description: `About ${name}` }));
const manyChoices = Array.from({ length: 25 }, (_, index) => ({ value: index + 1, name: `Row ${index + 1}` }));

describe('what a word means as a confirmation', () => {
  it.each<[string, boolean | undefined]>([
    ['y', true],
    [' YES ', true],
    ['n', false],
    ['No', false],
    ['yep', undefined],
    ['ye', undefined],
    ['nope', undefined],
    ['1', undefined],
  ])('%j', (word, expected) => {
    expect([decisionOf(word, true), decisionOf(word, false)]).toEqual([expected, expected]);
  });

  it('is the default for blanks only', () => {
    expect([decisionOf('', true), decisionOf(' ', false)]).toEqual([true, false]);
  });
});

describe('the highlighted row', () => {
  type Key = Parameters<typeof nextIndex>[0];
  it.each<[string, number, number, number]>([
    ['down', -1, 3, 0],
    ['down', 0, 3, 1],
    ['down', 2, 3, 2],
    ['up', -1, 3, 2],
    ['up', 0, 3, 0],
    ['up', 2, 3, 1],
    ['home', -1, 3, 0],
    ['home', 2, 3, 0],
    ['end', -1, 3, 2],
    ['pagedown', 0, 25, 9],
    ['pagedown', 20, 25, 24],
    ['pagedown', -1, 25, 8],
    ['pageup', 24, 25, 15],
    ['pageup', 3, 25, 0],
    ['pageup', -1, 25, 0],
    ['down', 0, 0, -1],
    ['up', 0, 0, 0],
    ['home', 0, 0, -1],
    ['end', 0, 0, -1],
  ])('%s from row %i of %i leads to row %i', (name, active, count, expected) => {
    expect(nextIndex({ name } as Key, active, count)).toBe(expected);
  });
});

describe('a long text', () => {
  const lines = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`);

  it('is shortened to its first and last lines if it has more than eight', () => {
    expect(clipLines(lines(8))).toEqual(lines(8));
    expect(clipLines(lines(9))).toEqual([...lines(4), '… 1 more lines …', 'line 5', 'line 6', 'line 7', 'line 8']);
  });

  it('is shown below its question, and a short one next to it', () => {
    const style = { message: (text: string) => `<${text}>`, answer: (text: string) => `[${text}]` };
    const base = { theme: { prefix: { done: '✓' }, style } };
    const heading = { above: 'context', message: 'Why?', detail: 'detail' };
    expect(answeredView({ ...base, heading }, ['because'])).toBe('context\n✓ <Why?> [because]\ndetail');
    expect(answeredView({ ...base, heading: { above: '', message: 'Why?', detail: '' } }, ['one', 'two'])).toBe(
      '✓ <Why?>\n  [one]\n  [two]',
    );
    expect(answeredView({ ...base, heading: { above: '', message: 'Why?', detail: '' } }, [])).toBe('✓ <Why?> []');
  });
});

describe('the parts of a prompt', () => {
  const style = { message: (text: string) => `<${text}>`, help: (text: string) => `(${text})`, keysHelpTip: (keys: unknown) => `${keys}` };
  const base = (more: object): Base =>
    ({ heading: { above: '', message: 'Why?', detail: '' }, theme: { prefix: { idle: '?' }, style }, open: {}, ...more }) as Base;

  it('begin with the question, and the text next to it', () => {
    expect(headingView(base({}))).toBe('? <Why?>');
    expect(headingView(base({}), 'text')).toBe('? <Why?> text');
    expect(headingView(base({ heading: { above: 'context', message: 'Why?', detail: 'detail' } }))).toBe('context\n? <Why?>\ndetail');
  });

  it('end with the keys, unless these are ignored', () => {
    expect(keyHelp(base({}), [['⏎', 'confirm']])).toBe('⏎,confirm');
    expect(keyHelp(base({ escape: 'leave it' }), [['⏎', 'confirm']])).toBe('⏎,confirm,esc,leave it');
    expect(keyHelp(base({ open: { ignoresKeys: true } }), [['⏎', 'confirm']])).toBe('((the keys work in a moment))');
  });
});

describe('a confirmation', () => {
  it('shows no control characters, and ignores the tab key', async () => {
    const { answer, press, screen } = await open((prompter) => prompter.confirm({ message: 'Delete it?' }), '(y/N)');
    expect(screen()).not.toContain('undefined');
    expect(await press('\u202e')).toContain('\\u{202e}');
    const refusedAnswer = await press(enter);
    expect(refusedAnswer).toContain('"\\u{202e}" is neither yes nor no.');
    expect(refusedAnswer).not.toContain('\u202e');
    await press('y', '\t', enter);
    expect(await answer).toBe(true);
    expect(screen()).not.toContain('\t');
  });

  it('has no effect when text is pasted into it', async () => {
    const { answer, press } = await open((prompter) => prompter.confirm({ message: 'Delete it?' }), '(y/N)');
    await press('\u001b[200~y\u001b[201~', 'y\rmore', enter);
    expect(await answer).toBe(false);
  });

  it('shows its default, and repeats the question after another word', async () => {
    const { answer, press, screen } = await open((prompter) => prompter.confirm({ message: 'Delete it?' }), '(y/N)');
    expect(screen()).toContain('? Delete it? (y/N)');
    expect(await press('maybe', enter)).toContain('> "maybe" is neither yes nor no. Type y or n.');
    expect(await press('x')).not.toContain('neither');
    await press('\u007f', 'y', enter);
    expect(await answer).toBe(true);
    expect(screen()).toContain('✓ Delete it? Yes');
  });

  it('can have yes as its default', async () => {
    const { answer, press, screen } = await open((prompter) => prompter.confirm({ message: 'Go on?', initial: true }), '(Y/n)');
    await press(enter);
    expect(await answer).toBe(true);
    const second = await open((prompter) => prompter.confirm({ message: 'Go on?', initial: true }), '(Y/n)');
    await second.press('n', enter);
    expect(await second.answer).toBe(false);
    expect([screen(), second.screen()]).toEqual([expect.stringContaining('✓ Go on? Yes'), expect.stringContaining('✓ Go on? No')]);
  });
});

describe('a list to choose from', () => {
  it('highlights its initial row, or else the first one', async () => {
    for (const [initial, expected] of [
      [undefined, 1],
      [3, 3],
      [9, 1],
    ] as const) {
      const { answer, press } = await open(
        (prompter) => prompter.select({ message: 'Which?', choices, ...(initial && { initial }) }),
        'confirm',
      );
      await press(enter);
      expect(await answer).toBe(expected);
    }
  });

  it('chooses nothing with Enter alone if it is neutral', async () => {
    const { answer, press, screen } = await open(
      (prompter) => prompter.select({ message: 'Which?', choices, neutral: true, initial: 2 }),
      'confirm',
    );
    expect(screen()).not.toContain('❯');
    expect(await press(enter)).toContain('Choose with the arrow keys first.');
    const screenAfterMove = await press(downKey);
    expect(screenAfterMove).toContain('❯ Alpha');
    expect(screenAfterMove).toContain('About Alpha');
    expect(screenAfterMove).not.toContain('Choose with the arrow keys first.');
    expect(await press(upKey, end)).toContain('❯ Gamma');
    await press(enter);
    expect(await answer).toBe(3);
    expect(screen()).toContain('✓ Which? Gamma');
    const last = await open((prompter) => prompter.select({ message: 'Which?', choices, neutral: true }), 'confirm');
    expect(await last.press(upKey)).toContain('❯ Gamma');
    await last.press(home, enter);
    expect(await last.answer).toBe(1);
    expect(last.screen()).toContain('✓ Which? Alpha');
  });

  it('hides the cursor, and shows descriptions only where there are some', async () => {
    const rows = ['Alpha', 'Beta'].map((name) => ({ value: name, name }));
    for (const show of [
      (prompter: Prompter) => prompter.select({ message: 'Which?', choices: rows }),
      (prompter: Prompter) => prompter.checkbox({ message: 'Which?', choices: rows }),
    ]) {
      const { stderr, screen } = await open<unknown>(show, 'confirm');
      expect(stderr()).toContain('\u001b[?25l');
      expect(screen()).not.toMatch(/undefined|type to search/);
      expect(screen().match(/❯/g)).toHaveLength(1);
    }
    const { stderr } = await open((prompter) => prompter.search({ message: 'Which?', choices: rows }), 'type to search');
    expect(stderr()).not.toContain('\u001b[?25l');
  });

  it('does not continue at its other end', async () => {
    for (const show of [
      (prompter: Prompter) => prompter.select({ message: 'Which?', choices: manyChoices }),
      (prompter: Prompter) => prompter.checkbox({ message: 'Which?', choices: manyChoices }),
    ]) {
      const { screen } = await open<unknown>(show, 'confirm');
      expect(screen()).not.toContain('Row 25');
    }
  });

  it('ignores letters, and Escape where it does nothing', async () => {
    const { answer, press, screen } = await open((prompter) => prompter.select({ message: 'Which?', choices }), 'confirm');
    await press('g', 'y', '\u001b', downKey);
    expect(screen()).not.toContain('esc');
    await press(enter);
    expect(await answer).toBe(2);
  });

  it('is dismissed with Escape where that is offered', async () => {
    const question = { message: 'Which?', choices, escape: 'leave it pending' };
    for (const show of [
      (prompter: Prompter) => prompter.select(question),
      (prompter: Prompter) => prompter.search(question),
      (prompter: Prompter) => prompter.checkbox(question),
    ]) {
      const { answer, press } = await open<unknown>(show, 'esc leave it pending');
      await press('\u001b');
      expect(await failureOf(answer)).toMatchObject({ code: 'interrupted', message: 'Left unanswered.' });
    }
  });

  it('moves by pages and to its ends', async () => {
    const { answer, press } = await open((prompter) => prompter.select({ message: 'Which?', choices: manyChoices }), 'confirm');
    expect(await press(pageDown)).toContain('❯ Row 10');
    expect(await press(end, pageUp)).toContain('❯ Row 16');
    expect(await press(home, downKey)).toContain('❯ Row 2');
    await press(enter);
    expect(await answer).toBe(2);
  });

  it('is filtered by the typed text where it can be searched', async () => {
    const { answer, press, screen } = await open(
      (prompter) => prompter.search({ message: 'Which?', choices: manyChoices }),
      'type to search',
    );
    expect(screen()).toContain('❯ Row 1');
    expect(await press('x')).toContain('Nothing matches.');
    expect(await press(enter)).toContain('> Nothing matches.');
    await press('\u007f');
    const searchScreen = await press('ROW 2');
    expect(searchScreen).toContain('❯ Row 2');
    await press(downKey, enter);
    expect(await answer).toBe(20);
    expect(screen()).toContain('✓ Which? Row 20');
  });

  it('keeps the typed text when nothing matches, and when the highlight moves', async () => {
    const { answer, press } = await open((prompter) => prompter.search({ message: 'Which?', choices: manyChoices }), 'type to search');
    await press('q', enter);
    expect(await press('x')).toContain('? Which? qx');
    expect(await press(enter)).toContain('> Nothing matches.');
    expect(await press('\u007f')).not.toContain('> Nothing matches.');
    await press('\u007f');
    expect(await press('Row 2', downKey)).toContain('❯ Row 20');
    // The first match is highlighted again.
    expect(await press(downKey, '1')).toContain('❯ Row 21');
    expect(await press('\u007f')).toContain('❯ Row 2\n');
    await press('5', enter);
    expect(await answer).toBe(25);
  });
});

describe('a list to choose several from', () => {
  it('starts with the checked rows, and returns the chosen ones in their order', async () => {
    const rows = choices.map((choice) => ({ ...choice, checked: choice.value === 2 }));
    const { answer, press, screen } = await open((prompter) => prompter.checkbox({ message: 'Which?', choices: rows }), 'confirm');
    expect(screen()).toMatch(/◯ Alpha\n.*◉ Beta\n.*◯ Gamma/);
    expect(await press('x', 'g', ' ', ' ')).toContain('❯◯ Alpha');
    expect(await press(end, ' ')).toContain('❯◉ Gamma');
    await press(home, ' ', downKey, ' ', enter);
    expect(await answer).toEqual([1, 3]);
    expect(screen()).toContain('✓ Which? Alpha, Gamma');
  });

  it('chooses all or none with a', async () => {
    const show = (prompter: Prompter) => prompter.checkbox({ message: 'Which?', choices });
    const prompt = await open(show, 'confirm');
    await prompt.press(' ', 'a', enter);
    expect(await prompt.answer).toEqual([1, 2, 3]);
    const secondPrompt = await open(show, 'confirm');
    await secondPrompt.press('a', 'a', enter);
    expect(await secondPrompt.answer).toEqual([]);
  });

  it('can require one', async () => {
    const { answer, press } = await open((prompter) => prompter.checkbox({ message: 'Which?', choices, required: true }), 'confirm');
    expect(await press(enter)).toContain('Choose at least one option with the space bar.');
    const screenAfterMove = await press(downKey);
    expect(screenAfterMove).toContain('About Beta');
    expect(screenAfterMove).not.toContain('Choose at least one');
    await press(' ', enter);
    expect(await answer).toEqual([2]);
  });
});
