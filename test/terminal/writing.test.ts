/** Prompts for a text: typed, pasted, or written in an editor. */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Drafts } from '../../src/terminal/prompting/drafts.ts';
import { editorCommand } from '../../src/terminal/prompting/editor.ts';
import { insertPasted } from '../../src/terminal/prompting/write.ts';
import type { InputQuestion } from '../../src/terminal/prompts.ts';
import { failureOf } from '../client/harness.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { openPrompt } from '../support/open-prompts.ts';
import { temporaryFolder } from '../support/temporary.ts';

const [enter, backspace, left] = ['\r', '\u007f', '\u001b[D'] as const;
const pasteOf = (text: string): string => `\u001b[200~${text}\u001b[201~`;

function writing(question: Partial<InputQuestion> = {}, options: Parameters<typeof openPrompt>[2] = {}) {
  const unsent: string[] = [];
  const show = { message: 'Why?', onUnsent: (text: string) => void unsent.push(text), ...question };
  return openPrompt((prompter) => prompter.input(show), '⏎', options).then((prompt) => ({ ...prompt, unsent }));
}

describe('a text', () => {
  it('is typed on one line, and stays on the screen', async () => {
    const { answer, press, screen, turns, unsent } = await writing();
    expect(screen()).toContain('⏎ confirm');
    expect(await press('b', 'e', 'cause')).toContain('? Why? because');
    await press(left, left, backspace, 'U', enter);
    expect(await answer).toBe('becaUse');
    await turns();
    expect(screen()).toContain('✓ Why? becaUse');
    expect(unsent).toEqual([]);
  });

  it('can be empty', async () => {
    const { answer, press } = await writing();
    await press(enter);
    expect(await answer).toBe('');
  });

  it('is pasted in several lines, of which the last can be changed and joined with the one above', async () => {
    const { answer, press, screen, turns } = await writing();
    const drawnText = await press('start ', pasteOf('one\ntwo\nthree'));
    expect(drawnText).toContain('  start one\n  two\n  three');
    await press('!', '\u0001', backspace, enter);
    expect(await answer).toBe('start one\ntwothree!');
    await turns();
    expect(screen()).toContain('✓ Why?\n  start one\n  twothree!');
  });

  it('is pasted at the cursor', async () => {
    const { answer, press } = await writing();
    await press('ac', left, pasteOf('b'), 'B', enter);
    expect(await answer).toBe('abBc');
  });

  it('is not changed by backspace at its beginning, nor by keys that move the cursor', async () => {
    const { answer, press } = await writing();
    await press('ab', '\u0001', backspace, '\u0005', 'c', enter);
    expect(await answer).toBe('abc');
  });

  it('is clipped on the screen if it is long, and shown without control characters', async () => {
    const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`);
    const { answer, press, screen } = await writing();
    const drawnText = await press(pasteOf(lines.join('\n')));
    expect(drawnText).toContain('… 3 more lines …');
    await press('\u202e', enter);
    expect(await answer).toBe(`${lines.join('\n')}\u202e`);
    expect(screen()).toContain('line 11\\u{202e}');
  });

  it('must be valid, and the problem disappears when the text changes', async () => {
    const validate = (text: string): true | string => text === 'ok' || `"${text}" is not ok.`;
    const { answer, press, unsent } = await writing({ validate });
    expect(await press(enter)).toContain('"" is not ok.');
    expect(await press('o', enter)).toContain('> "o" is not ok.');
    expect(await press(left)).not.toContain('> "o" is not ok.\n> ');
    expect(await press('\u0005', 'k')).not.toContain('is not ok');
    await press(enter);
    expect(await answer).toBe('ok');
    expect(unsent).toEqual([]);
  });

  it('is reported as unsent when the prompt ends without an answer, unless it is blank', async () => {
    for (const [text, expected] of [
      ['because', ['because']],
      ['  ', []],
      ['', []],
    ] as const) {
      const { answer, press, unsent } = await writing();
      if (text !== '') await press(text);
      await press('\u0003');
      expect(await failureOf(answer)).toMatchObject({ code: 'interrupted' });
      expect(unsent).toEqual(expected);
    }
  });

  it('is deleted with Ctrl-D if there is one; otherwise Ctrl-D ends the prompt', async () => {
    const { answer, press } = await writing();
    await press('ab', left, '\u0004', '\u0004');
    await press('c', backspace, backspace, '\u0004');
    expect(await failureOf(answer)).toMatchObject({ code: 'interrupted' });
  });

  it('is not sent with Escape, which leaves the question unanswered where that is offered', async () => {
    const { answer, press, screen, unsent } = await writing({ escape: 'leave it pending' });
    expect(screen()).toContain('esc leave it pending');
    await press('because');
    await press('\u001b');
    expect(await failureOf(answer)).toMatchObject({ message: 'Left unanswered.' });
    expect(unsent).toEqual(['because']);
  });

  it('has its context and details above it', async () => {
    const { answer, press, screen } = await writing({ above: 'Context', detail: 'Details' });
    expect(screen()).toMatch(/Context\nDetails\n\? Why\?/);
    await press('x', enter);
    await answer;
    expect(screen()).toMatch(/Context\n✓ Why\? x\nDetails/);
  });
});

it.each([
  [{ lines: [], line: 'ab' }, 'x', 1, { lines: [], line: 'axb', cursorAfter: 1 }],
  [{ lines: ['z'], line: 'ab' }, 'x\ny', 2, { lines: ['z', 'abx'], line: 'y', cursorAfter: 0 }],
  [{ lines: [], line: 'ab' }, 'x\ty', 1, { lines: ['ax\ty'], line: 'b', cursorAfter: 1 }],
  [{ lines: [], line: '' }, 'a\tb\nc', 0, { lines: ['a\tb'], line: 'c', cursorAfter: 0 }],
])('inserts pasted text: %j, %j at %i', (written, text, cursor, expected) => {
  expect(insertPasted(written, text, cursor)).toEqual(expected);
});

describe('a text from an editor', () => {
  /** An editor that does this with its file, whose path is `$1`. */
  async function editing(script: string, question: Partial<InputQuestion> = {}) {
    const folder = await temporaryFolder();
    const editor = path.join(folder, 'editor');
    writeFileSync(editor, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const drafts = path.join(folder, 'unsent');
    const prompt = await writing({ editor: '.md', ...question }, { drafts, env: { EDITOR: `'${editor}' --wait` } });
    /** Presses Enter without a text, and waits for what the prompt shows after the editor. */
    const edit = async (seen: string): Promise<void> => {
      await prompt.press(enter);
      await prompt.shows(seen);
      await prompt.turns();
    };
    return { ...prompt, edit, folder, drafts };
  }

  it('is the answer, without blank lines around it', async () => {
    const { answer, screen, edit, drafts, unsent } = await editing(`printf '\\n one\\n two\\n\\n' > "$2"`, {
      above: 'Context',
      detail: 'Details',
    });
    expect(screen()).toContain('⏎ open your editor');
    await edit('✓ Why?');
    expect(await answer).toBe('one\n two');
    expect(screen()).toContain('Context\n✓ Why?\n  one\n   two\nDetails');
    expect(readdirSync(drafts)).toEqual([]);
    expect(unsent).toEqual([]);
  });

  it('is stored in a private file with the extension of the question until then', async () => {
    const { answer, edit, folder } = await editing(
      `echo "$1 $2" > "$(dirname "$0")/arguments"; ls -l "$2" >> "$(dirname "$0")/arguments"; echo x > "$2"`,
    );
    await edit('✓ Why?');
    expect(await answer).toBe('x');
    expect(readFileSync(path.join(folder, 'arguments'), 'utf8')).toMatch(/^--wait \S+-why\.md\n-rw------- /);
  });

  it.each([
    ['true', 'The editor saved no text.'],
    ['exit 3', /The editor `.*`\s+failed\s+\(exit code 3\)\./],
    ['kill -9 $PPID', /The editor `.*`\s+failed\s+\(SIGKILL\)\./],
  ])('is requested again after `%s`', async (script, problem) => {
    const { answer, edit, screen, press, unsent } = await editing(script);
    const problemText = typeof problem === 'string' ? problem : 'failed (';
    await edit(problemText);
    expect(screen()).toMatch(problem);
    await press('typed', enter);
    expect(await answer).toBe('typed');
    expect(unsent).toEqual([]);
  });

  it('can be changed if it is not valid', async () => {
    const validate = (text: string): true | string => !text.includes('bad') || 'That is bad.';
    const { answer, edit, screen, press } = await editing(`echo bad > "$2"`, { validate });
    await edit('> That is bad.');
    expect(screen()).toContain('? Why? bad');
    await press(backspace, backspace, backspace);
    expect(await press('good', enter)).toContain('good');
    expect(await answer).toBe('good');
  });

  it('is unsent if the prompt was withdrawn meanwhile', async () => {
    const stop = new AbortController();
    const folder = await temporaryFolder();
    const unsent: string[] = [];
    const question = { message: 'Why?', editor: '.md', onUnsent: (text: string) => void unsent.push(text) };
    const { answer, press } = await openPrompt((prompter) => prompter.input(question, { signal: stop.signal }), 'open your editor', {
      drafts: folder,
      // It is open until the prompt has been withdrawn.
      env: { VISUAL: `until [ -e ${folder}/withdrawn ]; do sleep 0.01; done; printf written >` },
    });
    await press(enter);
    const reason = new Error('enough');
    stop.abort(reason);
    writeFileSync(path.join(folder, 'withdrawn'), '');
    expect(await failureOf(answer)).toBe(reason);
    expect(unsent).toEqual(['written']);
  });

  it('needs an editor that exists', async () => {
    const { answer, press, shows } = await writing(
      { editor: '.md' },
      { drafts: await temporaryFolder(), env: { EDITOR: 'no-such-editor -x' } },
    );
    await press(enter);
    await shows('The editor `no-such-editor -x` was not found. Check VISUAL and EDITOR.');
    await press('x', enter);
    expect(await answer).toBe('x');
  });

  it('is not offered without an editor, or where the question does not allow it', async () => {
    for (const [question, env] of [
      [{ editor: '.md' }, {}],
      [{}, { EDITOR: 'vi' }],
    ] as const) {
      const { answer, press, screen } = await writing(question, { env });
      expect(screen()).not.toContain('open your editor');
      await press(enter);
      expect(await answer).toBe('');
    }
  });

  it.each([
    [{ VISUAL: ' code --wait ', EDITOR: 'vi' }, 'code --wait'],
    [{ VISUAL: ' ', EDITOR: ' vi ' }, 'vi'],
    [{ EDITOR: ' ' }, undefined],
    [{}, undefined],
  ])('is written with the editor in %j: %s', (env, expected) => {
    expect(editorCommand(env)).toBe(expected);
  });
});

describe('unsent texts', () => {
  const clock = new ManualClock(Date.parse('2026-07-18T09:08:07.000Z'));

  it('are stored in files of their own, which only their owner can read', async () => {
    const folder = path.join(await temporaryFolder(), 'a', 'unsent');
    const drafts = new Drafts(folder, clock);
    const files = [drafts.save('one', 'Délete it?!'), drafts.save('two', 'Delete it'), drafts.save('three', '…', '.txt')];
    expect(files.map((file) => path.relative(folder, file))).toEqual([
      '20260718-090807-de-lete-it.md',
      '20260718-090807-delete-it.md',
      '20260718-090807-text.txt',
    ]);
    expect(path.basename(drafts.save('four', 'Delete it'))).toBe('20260718-090807-delete-it-2.md');
    expect(path.basename(drafts.save('five', 'Delete it'))).toBe('20260718-090807-delete-it-3.md');
    expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(['one', 'two', 'three']);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(files[0] as string).mode & 0o777).toBe(0o600);
    drafts.remove(files[0] as string);
    drafts.remove(files[0] as string);
    expect(readdirSync(folder)).toHaveLength(4);
  });

  it('go to the temporary folder if their own cannot be written', async () => {
    const folder = await temporaryFolder();
    writeFileSync(path.join(folder, 'file'), '');
    const file = new Drafts(path.join(folder, 'file'), clock).save('text', 'x');
    expect(file).toContain('aops-unsent-');
    expect(readFileSync(file, 'utf8')).toBe('text');
    rmSync(path.dirname(file), { recursive: true });
  });
});
