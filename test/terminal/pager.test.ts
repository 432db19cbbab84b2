import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { page } from '../../src/terminal/pager.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { fakeTerminal } from './fake-streams.ts';

const text = 'one\ntwo\nthree\n';

function terminalOf(rows: number | undefined, options: Parameters<typeof fakeTerminal>[0] = {}) {
  const { terminal } = fakeTerminal({ tty: true, ...options });
  if (rows !== undefined) Object.assign(terminal.out.stream, { rows });
  return terminal;
}

describe('a pager', () => {
  it('receives text that does not fit the screen, without harmful sequences, and with its usual options', async () => {
    const file = path.join(await temporaryFolder(), 'paged');
    const terminal = terminalOf(3);
    expect(await page(terminal, `${text}\u001b[2J`, `(echo "$LESS $LV"; cat) > '${file}'`)).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe(`FRX -c\n${text}^[[2J`);
    const ownOptions = terminalOf(3, { env: { LESS: 'M', LV: '-x' } });
    expect(await page(ownOptions, text, `echo "$LESS $LV" > '${file}'`)).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe('M -x\n');
  });

  it.each([
    ['the text fits the screen', 4, text, {}],
    ['the height is unknown', undefined, text, {}],
    ['the output is not a terminal', 3, text, { tty: { stdin: true, stdout: false, stderr: true } }],
    ['the input is not a terminal', 3, text, { tty: { stdin: false, stdout: true, stderr: true } }],
    ['it is a CI job', 3, text, { env: { CI: '1' } }],
  ])('is not used if %s', async (_, rows, content, options) => {
    const file = path.join(await temporaryFolder(), 'paged');
    expect(await page(terminalOf(rows, options), content, `cat > '${file}'`)).toBe(false);
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });

  it.each([undefined, '', 'cat'])('is not used if it is %j', async (pager) => {
    expect(await page(terminalOf(3), text, pager)).toBe(false);
  });

  it('has shown the text if it failed or was quit early, but not if it could not be run', async () => {
    const large = 'line\n'.repeat(200_000);
    expect(await page(terminalOf(3), large, 'true')).toBe(true);
    expect(await page(terminalOf(3), text, 'exit 1')).toBe(true);
    expect(await page(terminalOf(3), text, 'exit 126')).toBe(false);
    expect(await page(terminalOf(3), text, 'exit 127')).toBe(false);
  });
});
