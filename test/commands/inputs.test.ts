/** Checks of arguments and options before anything is sent, and texts from files and standard input. */
import { beforeAll, describe, expect, it } from 'vitest';
import { length, uuid, webAddress } from '../../src/cli/kit/checks.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let run: string;
beforeAll(async () => {
  service = await startTestService();
  await service.agent('- say: "Hello {{message}}"', 'greeter');
  run = await service.run('- say: "Hello"');
});

describe('checks', () => {
  it('counts characters, not UTF-16 units', () => {
    expect(length(1, 2)('🧾🧾', '--name')).toBe('🧾🧾');
    expect(() => length(1, 2)('🧾🧾🧾', '--name')).toThrow('--name must have at most 2 characters, not 3.');
    expect(() => length(1)('', '--name')).toThrow('--name is empty.');
    expect(() => length(3)('ab', '--name')).toThrow('--name must have at least 3 characters, not 2.');
  });

  it('accepts IDs in upper and lower case, and nothing else', () => {
    expect(uuid('6F1C0A51-6C6E-4B0E-9F0E-0D4D4F3A2B11', 'ID')).toBe('6f1c0a51-6c6e-4b0e-9f0e-0d4d4f3a2b11');
    expect(() => uuid('6f1c0a51', 'ID')).toThrow('ID must be an ID, not "6f1c0a51".');
  });

  it('accepts only complete web addresses', () => {
    expect(webAddress('https://example.com/hook', '--url')).toBe('https://example.com/hook');
    for (const invalidUrl of ['example.com', 'ftp://example.com', '//example.com', 'javascript:alert(1)'])
      expect(() => webAddress(invalidUrl, '--url')).toThrow('--url must be an http or https address');
  });
});

describe('a value that the service would reject', () => {
  const id = '00000000-0000-4000-8000-000000000007';
  it.each([
    [['agents', 'create', ''], 'NAME is empty.'],
    [['agents', 'update', 'greeter', '--name', ''], '--name is empty.'],
    [['serve', '--data-dir', ''], '--data-dir is empty.'],
    [['sandbox', 'pull', id, '--to='], '--to is empty.'],
    [['runs', 'start', '--agent', 'greeter', '--webhook-url', 'example.com'], '--webhook-url must be an http or https address'],
    [['runs', 'send', id, ''], 'MESSAGE is empty.'],
    [['runs', 'respond', id, 'first', '--approve'], '"first" does not name a run.'],
    [['runs', 'respond', id, '--request', 'first', '--approve'], '--request must be an ID, not "first".'],
    [['runs', 'list', '--limit', '0'], '--limit must be a whole number, 1 or more, not "0".'],
  ])('%j is rejected by the command line with exit 2', async (argv, message) => {
    const [runs, agents] = [await service.countRuns(), await service.countAgents()];
    const refusal = await service.cli(argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(`error: ${message}`);
    expect(refusal.stderr).not.toContain('-> 400');
    expect([await service.countRuns(), await service.countAgents()]).toEqual([runs, agents]);
  });
});

describe('an argument written as a flag', () => {
  it.each([
    [['agents', 'create', '--name', 'x'], 'NAME is an argument, not a flag: `aops agents create NAME`.'],
    [['cases', 'create', 'q', '--title=x'], 'TITLE is an argument, not a flag: `aops cases create QUEUE TITLE`.'],
    [['agents', 'create', '--zzzzzzzz', 'x'], 'See `aops agents create --help`.'],
  ])('%j is explained', async (argv, hint) => {
    const refusal = await service.cli(argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(`hint: ${hint}`);
  });
});

describe('an empty name', () => {
  it.each([
    [['agents', 'get', ''], 'AGENT'],
    [['runs', 'watch', ''], 'RUN'],
    [['webhooks', 'delete', '', '--yes'], 'WEBHOOK'],
    [['profiles', 'use', ''], 'NAME'],
    [['sandbox', 'push', '', '.'], 'PATHS'],
    [['agents', 'schedules', 'next', ''], 'AGENT'],
    [['runs', 'start', '--agent', ''], '--agent'],
    [['runs', 'list', '--queue='], '--queue'],
    [['local', 'reset', '--data-dir', '', '--yes'], '--data-dir'],
    [['runs', 'screenshots', '@latest', '--html', ''], '--html'],
  ])('%j is reported as empty', async (argv, name) => {
    const hint = 'If the value comes from a variable, the variable is not set.';
    expect(await service.cli(argv)).toMatchObject({ code: 2, stdout: '', stderr: `error: ${name} is empty.\nhint: ${hint}\n` });
  });

  it('is accepted where a text can be empty', async () => {
    expect((await service.cli(['runs', 'list', '--search', '', '--count'])).code).toBe(0);
  });
});

describe('the syntax of other tools', () => {
  it('accepts an equals sign after a short flag, as kubectl does', async () => {
    const { stdout } = await service.cli(['agents', 'get', 'greeter', '-o=json', '--fields', 'name']);
    expect(JSON.parse(stdout)).toEqual({ name: 'greeter' });
    expect((await service.cli(['api', '-X=GET', 'getRun', `-f=run_id=${run}`, '--jq', '.run.id'])).stdout).toBe(`${run}\n`);
    expect((await service.cli(['agents', 'list', '-o=jsn'])).stderr).toContain('not "jsn".\nhint: Did you mean json?');
  });

  it.each([[['--json', 'id,name']], [['--json=id,name']]])(
    'fields behind --json, as gh has them, are pointed at their flag: %j',
    async (flags) => {
      const refusal = await service.cli(['agents', 'list', ...flags]);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusal.stderr).toContain('--json does not take a value. Choose fields with `--json --fields id,name`.');
    },
  );

  it('does not mistake an extra argument for a field', async () => {
    const refusal = await service.cli(['inbox', 'nope']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('hint: Put quotes around a text that contains spaces. See `aops inbox --help`.');
  });
});

describe('a text', () => {
  const sendText = async (text: string, stdin?: string): Promise<unknown> => {
    await service.until(run, 'completed');
    const result = await service.cli(['runs', 'send', run, text, '--json', '--jq', '.text_content'], stdin === undefined ? {} : { stdin });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    return result.stdout;
  };

  it('is read from the command line, a file or standard input', async () => {
    await service.file('note.txt', 'from a file\n');
    expect(await sendText('plain')).toBe('plain\n');
    expect(await sendText('@note.txt')).toBe('from a file\n\n');
    expect(await sendText('-', 'from a pipe')).toBe('from a pipe\n');
    expect(await sendText('@@anna, please')).toBe('@anna, please\n');
  });

  it('explains how to begin a text with @ if the file does not exist', async () => {
    const refusal = await service.cli(['runs', 'send', run, '@anna']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('anna cannot be read: there is no such file.');
    expect(refusal.stderr).toContain('For a text that starts with @, write @@anna.');
  });

  it.each([
    [['runs', 'send', 'RUN', '@latin.txt']],
    [['runs', 'start', '--agent', 'greeter', '--message', '@latin.txt']],
    [['api', 'POST', 'runs/RUN/messages', '-F', 'message=@latin.txt']],
    [['api', 'POST', 'runs/RUN/messages', '--input', 'latin.txt']],
    [['agents', 'create', 'latin', '--procedure', 'latin.txt']],
    [['agents', 'create', 'latin', '--input', 'latin.txt']],
    [['cases', 'create', 'bills', 'One', '--data', '@latin.txt']],
    [['runs', 'start', '--agent', 'greeter', '--watch', '--answers', 'latin.txt']],
  ])('that is not UTF-8 is rejected, because it would be stored incorrectly: %j', async (argv) => {
    await service.file('latin.txt', Buffer.from('{"message":"M\xfcller"}', 'latin1'));
    const [runs, agents] = [await service.countRuns(), await service.countAgents()];
    const refusal = await service.cli(argv.map((word) => word.replace('RUN', run)));
    const stderr = "error: latin.txt is not UTF-8.\nhint: Convert it: iconv -f WINDOWS-1252 -t UTF-8 'latin.txt'\n";
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr });
    expect([await service.countRuns(), await service.countAgents()]).toEqual([runs, agents]);
  });

  it('from standard input that is not UTF-8 is rejected, and UTF-16 is named in the error', async () => {
    const refusal = await service.cli(['runs', 'send', run, '-'], { stdin: Buffer.from('\ufeffhello', 'utf16le') });
    const stderr = 'error: Standard input is not UTF-8.\nhint: Convert it: iconv -f UTF-16 -t UTF-8\n';
    expect(refusal).toMatchObject({ code: 2, stdout: '', stderr });
  });

  it('is stored without its byte order mark', async () => {
    await service.file('marked.json', '\ufeff{"message":"marked"}');
    expect((await service.cli(['api', 'POST', `runs/${run}/messages`, '--input', 'marked.json'])).code).toBe(0);
    await service.file('marked.txt', '\ufeffmarked');
    expect(await sendText('@marked.txt')).toBe('marked\n');
  });

  it('is checked regardless of its source', async () => {
    await service.file('empty.txt', '');
    expect((await service.cli(['runs', 'send', run, '@empty.txt'])).stderr).toContain('MESSAGE is empty.');
    expect((await service.cli(['runs', 'send', run, '-'], { stdin: '' })).stderr).toContain('MESSAGE is empty.');
  });
});
