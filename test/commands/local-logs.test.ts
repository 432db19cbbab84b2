/** `aops local logs`: the log for people and for programs. */
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { earlierLog, keepWithin, LogReader } from '../../src/commands/local/log-file.ts';
import { readableLine } from '../../src/commands/local/service-log.ts';
import { type CliOptions, runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let folder: string;
let file: string;
const entry = (message: string) =>
  JSON.stringify({ time: '2026-07-18T09:00:00.123Z', level: 'info', message, method: 'GET', nothing: null });
beforeAll(async () => {
  folder = await temporaryFolder();
  file = path.join(folder, 'data', 'local', 'service.log');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `${entry('first')}\n${entry('second')}\nListening on it\n`);
});

const logs = (argv: readonly string[] = [], options: CliOptions = {}) =>
  runCli(['local', 'logs', ...argv], { ...options, env: { ...folderEnv(folder), NO_COLOR: '1' } });

describe('local logs', () => {
  it('prints the log unchanged in a pipe, and as readable lines on a terminal', async () => {
    expect(await logs()).toMatchObject({ code: 0, stdout: `${entry('first')}\n${entry('second')}\nListening on it\n`, stderr: '' });
    const result = await logs([], { tty: true });
    expect(result.stdout).toBe(
      '2026-07-18 09:00:00 info  first method=GET\n2026-07-18 09:00:00 info  second method=GET\nListening on it\n',
    );
    expect((await logs(['--json'], { tty: true })).stdout).toContain(entry('first'));
  });

  it('prints lines that are not entries unchanged', () => {
    for (const line of ['{"time":"2026-07-18T09:00:00.123Z","level":"info"}', '{"time":1,"level":"info","message":"x"}', '[]', '{'])
      expect(readableLine(line)).toBe(line);
  });

  it('prints every line as JSON with --json', async () => {
    const { stdout } = await logs(['--json', '--tail', '2']);
    expect(stdout).toBe(`${entry('second')}\n{"message":"Listening on it"}\n`);
  });

  it('starts with the number of lines from --tail', async () => {
    expect((await logs(['--tail', '1'])).stdout).toBe('Listening on it\n');
    expect((await logs(['--tail', '2'])).stdout).toBe(`${entry('second')}\nListening on it\n`);
    expect((await logs(['--tail', '0'])).code).toBe(2);
  });

  it('follows with --tail, and repeats no line', async () => {
    let interrupt: () => void = () => undefined;
    let writing: Promise<void> | undefined;
    const { stdout } = await logs(['--tail', '2', '--follow'], {
      onStart: (deliver) => {
        interrupt = deliver;
      },
      onOutput: (text) => {
        if (text.endsWith('Listening on it\n')) writing ??= appendFile(file, 'third\n').then(() => appendFile(file, 'fourth\n'));
        if (text.endsWith('fourth\n')) interrupt();
      },
    });
    await writing;
    expect(stdout).toBe(`${entry('second')}\nListening on it\nthird\nfourth\n`);
  });

  it('does not break a character that is split between two chunks', async () => {
    await appendFile(file, `${'ä'.repeat(100_001)}\n`);
    expect((await logs(['--tail', '1'])).stdout).toBe(`${'ä'.repeat(100_001)}\n`);
  });
});

describe('a log file that is too large', () => {
  const newLog = async (): Promise<{ name: string; env: Record<string, string> }> => {
    const ownFolder = await temporaryFolder();
    const name = path.join(ownFolder, 'data', 'local', 'service.log');
    await mkdir(path.dirname(name), { recursive: true });
    return { name, env: { ...folderEnv(ownFolder), NO_COLOR: '1' } };
  };

  it('is truncated, and its content is kept in the file next to it', async () => {
    const { name, env } = await newLog();
    await writeFile(name, 'one\ntwo\n');
    keepWithin(name, 100);
    expect(await readFile(name, 'utf8')).toBe('one\ntwo\n');
    keepWithin(name, 5);
    await appendFile(name, 'three\n');
    expect([await readFile(earlierLog(name), 'utf8'), await readFile(name, 'utf8')]).toEqual(['one\ntwo\n', 'three\n']);
    expect((await runCli(['local', 'logs'], { env })).stdout).toBe('one\ntwo\nthree\n');
    expect((await runCli(['local', 'logs', '--tail', '2'], { env })).stdout).toBe('two\nthree\n');
    await appendFile(name, 'four\n');
    keepWithin(name, 5);
    expect((await runCli(['local', 'logs'], { env })).stdout).toBe('three\nfour\n');
  });

  it('is followed without losing or repeating a line, whenever it is truncated', async () => {
    const { name } = await newLog();
    await writeFile(earlierLog(name), 'zero\n');
    await writeFile(name, 'one\n');
    const reader = await LogReader.open(name);
    const readAll = async (): Promise<string> => {
      let text = '';
      for (let bytes = await reader.read(); bytes.length > 0; bytes = await reader.read()) text += bytes.toString();
      return text;
    };
    expect(await readAll()).toBe('zero\none\n');
    await appendFile(name, 'two\n');
    keepWithin(name, 1);
    await appendFile(name, 'x\n');
    expect(await readAll()).toBe('two\nx\n');
    keepWithin(name, 1);
    expect(await readAll()).toBe('');
    await appendFile(name, 'y\n');
    expect(await readAll()).toBe('y\n');
    await reader.close();
  });
});
