/** Bodies, answers, and secrets from flags, files, and standard input. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { answerFromValues, blindAnswers } from '../../../src/cli/input/answer-flags.ts';
import { bodyFromFlags, decodeText, readContent } from '../../../src/cli/input/body.ts';
import { checkSecretName, readAgentSecrets, readSecret, secretNames } from '../../../src/cli/input/secret.ts';
import { length } from '../../../src/cli/kit/checks.ts';
import type { Context } from '../../../src/cli/kit/context.ts';
import type { HumanRequest } from '../../../src/interface/types.ts';
import { failureOf } from '../../client/harness.ts';
import { temporaryFolder } from '../../support/temporary.ts';

let cwd: string;
/** What was reported, protected, and asked for. */
let log: string[];
let context: Context;

beforeEach(async () => {
  cwd = await temporaryFolder();
  log = [];
  context = {
    cwd,
    readStandardInput: async () => Buffer.from('from stdin'),
    prompter: {
      password: async ({ message, flag }: { message: string; flag: string }) => {
        log.push(`${message} (${flag})`);
        return 'from prompt';
      },
    },
    terminal: { protect: (value: string) => log.push(`protect ${value}`), warn: (text: string) => log.push(text) },
  } as unknown as Context;
});

const write = (name: string, content: string | Uint8Array): Promise<void> => writeFile(path.join(cwd, name), content);

describe('the body', () => {
  const body = (input: { rawField?: string[]; field?: string[]; input?: string }, defaultBody?: object) =>
    bodyFromFlags(context, { rawField: input.rawField ?? [], field: input.field ?? [], input: input.input }, defaultBody);

  it('is undefined without flags, or the default', async () => {
    expect(await body({})).toBeUndefined();
    expect(await body({}, { a: 1 })).toEqual({ a: 1 });
  });

  it('contains texts and typed values', async () => {
    await write('text', '7\n');
    const field = ['a=true', 'b=false', 'c=null', 'd=-12', 'e=007', 'f=1234567890123456', 'g=@text', 'h=x=y', 'i=', 'j=1.5', 'k=0'];
    expect(await body({ rawField: ['x=true', 'y=@text'], field })).toEqual({
      ...{
        x: 'true',
        y: '@text',
        a: true,
        b: false,
        c: null,
        d: -12,
        e: '007',
        f: '1234567890123456',
        g: '7\n',
        h: 'x=y',
        i: '',
        j: '1.5',
      },
      k: 0,
    });
  });

  it('contains nested objects and lists', async () => {
    expect(
      await body({ rawField: ['a[b]=1', 'a[c][d]=2', 'l[]=1', 'l[]=2', 'o[][x]=1', 'o[][y]=2', 'o[][x]=3', 'n[][]=1'], field: ['e[]'] }),
    ).toEqual({
      ...{ a: { b: '1', c: { d: '2' } }, l: ['1', '2'], o: [{ x: '1', y: '2' }, { x: '3' }], n: [{ '': '1' }] },
      e: [],
    });
    expect(await body({ rawField: ['o[][x][y]=1', 'o[][x][z]=2'] })).toEqual({ o: [{ x: { y: '1', z: '2' } }] });
  });

  it('adds fields to the object of a file, and does not change the default', async () => {
    await write('body.json', '{"a":1}');
    expect(await body({ input: 'body.json', rawField: ['b=2'] })).toEqual({ a: 1, b: '2' });
    expect(await body({ input: 'body.json' }, { z: 1 })).toEqual({ a: 1 });
    const defaultBody = { a: 1, n: {} };
    expect(await body({ rawField: ['n[b]=2'] }, defaultBody)).toEqual({ a: 1, n: { b: '2' } });
    expect(defaultBody).toEqual({ a: 1, n: {} });
  });

  it.each([
    [{ rawField: ['a'] }, '-f must be KEY=VALUE, not "a".'],
    [{ rawField: ['=a'] }, '-f must be KEY=VALUE, not "=a".'],
    [{ field: ['=a[]'] }, '-F must be KEY=VALUE, not "=a[]".'],
    [{ rawField: ['a[=1'] }, '"a[" is not a valid key.'],
    [{ rawField: ['[a]=1'] }, '"[a]" is not a valid key.'],
    [{ rawField: ['__proto__[a]=1'] }, '"__proto__[a]" is not a valid key.'],
    [{ rawField: ['a[__proto__]=1'] }, '"a[__proto__]" is not a valid key.'],
    [{ rawField: ['a=1', 'a[b]=2'] }, '"a[b]": a is not an object.'],
    [{ input: 'null.json', rawField: ['a[b]=2'] }, '"a[b]": a is not an object.'],
    [{ rawField: ['a=1', 'a[]=2'] }, '"a[]": a is not a list.'],
    [{ rawField: ['a[]=1', 'a[b]=2'] }, '"a[b]": a is not an object.'],
    [{ input: 'list.json', rawField: ['a=1'] }, 'Fields can only be added to a JSON object'],
    [{ input: 'text' }, 'text is not valid JSON: '],
    [{ input: '-' }, 'Standard input is not valid JSON: '],
    [{ input: 'missing' }, 'missing cannot be read: there is no such file.'],
    [{ input: '.' }, '. cannot be read: it is a directory.'],
    [{ input: 'x'.repeat(300) }, 'x cannot be read: ENAMETOOLONG'],
  ])('is refused: %j', async (input, message) => {
    await write('list.json', '[]');
    await write('null.json', '{"a":null}');
    await write('text', 'text');
    expect(await failureOf(body(input))).toMatchObject({ exit: 2, message: expect.stringContaining(message) });
  });

  it('can have keys that objects inherit', async () => {
    expect(await body({ rawField: ['constructor[a]=1', 'toString[]=2'] })).toEqual({ constructor: { a: '1' }, toString: ['2'] });
  });
});

describe('a text', () => {
  it('is itself, a file, standard input, or begins with @', async () => {
    await write('file', 'content');
    const texts = ['x', '@file', '-', '@@file', 'a@file', ''];
    expect(await Promise.all(texts.map((text) => readContent(context, text)))).toEqual([
      'x',
      'content',
      'from stdin',
      '@file',
      'a@file',
      '',
    ]);
    expect(await failureOf(readContent(context, '@file', length(8), '--text'))).toMatchObject({
      message: '--text must have at least 8 characters, not 7.',
    });
    expect(await failureOf(readContent(context, '@missing'))).toMatchObject({
      ...{ message: 'missing cannot be read: there is no such file.', hint: expect.stringContaining('write @@missing') },
    });
    const interrupted = new Error('Interrupted.');
    const ending = { ...context, readStandardInput: () => Promise.reject(interrupted) } as Context;
    expect(await failureOf(readContent(ending, '@-'))).toBe(interrupted);
  });

  it('is UTF-8, without its byte order mark', () => {
    expect(decodeText(Buffer.from('\ufeffä'), 'file')).toBe('ä');
    const hintOf = (bytes: number[], file = 'a file'): unknown => {
      try {
        return decodeText(Uint8Array.from(bytes), file);
      } catch (error) {
        return [(error as Error).message, (error as { hint: string }).hint];
      }
    };
    const western = "Convert it: iconv -f WINDOWS-1252 -t UTF-8 'a file'";
    const utf16 = "Convert it: iconv -f UTF-16 -t UTF-8 'a file'";
    expect([[0xe4], [0xff, 0xff], [0xfe, 0xfe], [0xff, 0xfe], [0xfe, 0xff]].map((bytes) => hintOf(bytes))).toEqual(
      [western, western, western, utf16, utf16].map((hint) => ['a file is not UTF-8.', hint]),
    );
    expect(hintOf([0xe4], '-')).toEqual(['Standard input is not UTF-8.', 'Convert it: iconv -f WINDOWS-1252 -t UTF-8']);
  });
});

describe('an answer', () => {
  const request = {
    questions: [
      { question: 'How?', header: 'way', options: [{ label: '@home' }, { label: 'post' }] },
      { question: 'Why?', options: [] },
    ],
  } as unknown as HumanRequest;

  it('can be read from a file, unless an option has its name', async () => {
    await write('reason', 'because');
    expect(await answerFromValues(context, request, ['way=@home', 'Why?=@reason'])).toEqual({
      answers: { 'How?': '@home', 'Why?': 'because' },
    });
    expect(await answerFromValues(context, request, ['How?=post', 'why?=-'])).toEqual({
      answers: { 'How?': 'post', 'Why?': 'from stdin' },
    });
    expect(await answerFromValues(context, request, ['How?=post', 'Why?=me@home - or not'])).toEqual({
      answers: { 'How?': 'post', 'Why?': 'me@home - or not' },
    });
    expect(await answerFromValues(context, request, ['How?=post', 'Why?=@@reason'])).toEqual({
      answers: { 'How?': 'post', 'Why?': '@reason' },
    });
    const one = { questions: [request.questions?.[1]] } as unknown as HumanRequest;
    expect(await answerFromValues(context, one, ['@reason'])).toEqual({ answers: { 'Why?': 'because' } });
    expect(await answerFromValues(context, one, ['-'])).toEqual({ answers: { 'Why?': 'from stdin' } });
    expect(await failureOf(answerFromValues(context, {} as HumanRequest, ['-']))).toMatchObject({ exit: 2 });
  });

  it('is split at the first = if the questions are not known', async () => {
    expect(await blindAnswers(context, ['a=b=c', 'd=-'])).toEqual({ answers: { a: 'b=c', d: 'from stdin' } });
  });
});

describe('a secret', () => {
  const options = { flag: '--header X', prompt: 'Value of X', alternative: ', or omit it' };

  it('comes from a file, standard input, or a prompt, unchanged', async () => {
    await write('file', ' secret \n');
    expect(await Promise.all(['@file', '-', undefined].map((source) => readSecret(context, source, options)))).toEqual([
      ...[' secret \n', 'from stdin', 'from prompt'],
    ]);
    expect(log).toEqual(['Value of X (--header X=@FILE)']);
  });

  it('is not an argument, and is not repeated then', async () => {
    const failure = await failureOf(readSecret(context, 'hunter2', options));
    expect(failure).toMatchObject({ exit: 2, hint: 'Put the value in a file and pass --header X=@FILE, or omit it.' });
    expect(JSON.stringify([failure, failure.message])).not.toContain('hunter2');
  });

  it('of an agent is masked, without the line feeds at its end', async () => {
    await write('key', 'line one\nline two\r\n\n');
    expect(secretNames(['A', 'B=@key'])).toEqual(['A', 'B']);
    expect(await readAgentSecrets(context, ['KEY=@key', 'TOKEN', 'INPUT=@-'], '--secret ')).toEqual([
      { name: 'KEY', value: 'line one\nline two' },
      { name: 'TOKEN', value: 'from prompt' },
      { name: 'INPUT', value: 'from stdin' },
    ]);
    expect(log).toEqual([
      'protect line one\nline two',
      'Value of TOKEN (--secret TOKEN=@FILE)',
      'protect from prompt',
      'protect from stdin',
    ]);
  });

  it('that is short cannot be masked, which is reported', async () => {
    await write('long', '12345678');
    await write('short', '1234567');
    await readAgentSecrets(context, ['A=@long']);
    expect(log).toEqual(['protect 12345678']);
    await readAgentSecrets(context, ['A=@short']);
    expect(log.slice(1)).toEqual(['protect 1234567', expect.stringContaining('A has fewer than 8 characters')]);
  });

  it.each([
    ['is empty', '\n', 'The value of A is empty.'],
    ['is blank', ' \t ', 'The value of A is empty.'],
    ['contains NUL', 'a\0b', 'The value of A contains a NUL character'],
    ['is too long', '😀'.repeat(65_537), 'The value of A is longer than 65536 characters.'],
  ])('of an agent is refused if it %s', async (_, content, message) => {
    await write('file', content);
    expect(await failureOf(readAgentSecrets(context, ['A=@file']))).toMatchObject({ exit: 2, message: expect.stringContaining(message) });
  });

  it('of an agent can have 65,536 characters', async () => {
    await write('file', '😀'.repeat(65_536));
    expect(await readAgentSecrets(context, ['A=@file'])).toHaveLength(1);
  });

  it.each([
    [['A', 'B=@x', 'A=-'], 'The secret A appears twice.'],
    [['A=-', 'B=-'], 'Only one secret can be read from standard input.'],
    [['A=@-', 'B=-'], 'Only one secret can be read from standard input.'],
    [['A B=-'], 'The name of a secret must be the name of an environment variable.'],
    [['=-'], 'The name of a secret must be the name of an environment variable.'],
    [['__proto__=-'], 'The name of a secret must be the name of an environment variable.'],
  ])('%j is refused', async (words, message) => {
    expect(await failureOf(readAgentSecrets(context, words))).toMatchObject({ exit: 2, message });
    expect(log).toEqual([]);
  });

  it('has the name of an environment variable', () => {
    expect(checkSecretName('_a1')).toBe('_a1');
    expect(() => checkSecretName('1a')).toThrow('The name of a secret');
  });
});
