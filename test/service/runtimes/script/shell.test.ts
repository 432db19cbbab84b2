import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { quote, renderCommand } from '../../../../src/service/runtimes/script/shell.ts';
import type { Scope } from '../../../../src/service/runtimes/script/template.ts';
import { hostLauncher } from '../../../../src/service/sandbox/launch.ts';
import { drive, TestHost, type TestSandbox, testSandbox } from './host.ts';

let place: TestSandbox;
beforeEach(async () => {
  place = await testSandbox();
});
afterEach(() => place.remove());

const scope = (message: string, answers: Record<string, unknown> = {}): Scope => ({
  message,
  messages: [message],
  answers,
  steps: {},
  run: { id: 'r', number: 1 },
  agent: { name: 'Ada' },
  memory: {},
  case: null,
});
/** Runs a command in the sandbox. */
const execute = (command: string) =>
  place.sandbox.exec(command, {
    launcher: hostLauncher,
    timeoutMs: 30_000,
    outputLimit: 1_000_000,
    signal: new AbortController().signal,
  });
const output = async (template: string, message: string, answers?: Record<string, unknown>): Promise<string> => {
  const { stdout, stderr, exitCode } = await execute(renderCommand(template, scope(message, answers)).text);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  return stdout;
};

/** Ends the output of a command; no value contains it. */
const end = 'c0a4f0e6-the-end';
/** The command of a template with each message, for one shell that starts another for each: starting them from here takes much longer. */
const commandsOf = (template: string, messages: readonly string[]): string =>
  messages
    .map((message) => renderCommand(template, scope(message)).text)
    .map((text) => `/bin/sh -c '${text.replaceAll("'", "'\\''")}'; printf '%s${end}' $?`)
    .join('\n');
/** What the template's command prints for each message. */
async function outputs(template: string, messages: readonly string[]): Promise<string[]> {
  const { stdout, stderr, exitCode } = await execute(commandsOf(template, messages));
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  const parts = stdout.split(end);
  expect(parts.pop()).toBe('');
  return parts.map((part) => {
    // The exit code.
    expect(part.at(-1), part).toBe('0');
    return part.slice(0, -1);
  });
}

const attacks = [
  '; touch pwned',
  '$(touch pwned)',
  '`touch pwned`',
  '" ; touch pwned ; "',
  "' ; touch pwned ; '",
  '\n touch pwned \n',
  '| touch pwned',
  '&& touch pwned',
  `\${x:-$(touch pwned)}`,
  '\\',
  "'",
  '"',
  '*',
  '~',
  '#',
  '-n',
  '!!',
  '\u0000x'.slice(1),
  'a  b\tc',
  'Zoë 🙂',
  "'\"'\"'",
  '{{ message }}',
  'EOF\ntouch pwned',
];

describe('values in commands', () => {
  const places = [
    ["printf '%s' {{ message }}", (value: string) => value],
    ['printf %s "{{ message }}"', (value: string) => value],
    ['printf %s "a {{ message }} b"{{ message }}c', (value: string) => `a ${value} b${value}c`],
    ['x={{ message }}; printf %s "$x"', (value: string) => value],
    ['printf %s "$(printf %s {{ message }}.)"', (value: string) => `${value}.`],
    ['printf %s "$(printf %s "{{ message }}.")"', (value: string) => `${value}.`],
    ['(printf %s {{ message }}) # about {{ message }}', (value: string) => value],
    ["printf %s it\\'s\\ {{ message }}", (value: string) => `it's ${value}`],
    ['{% if message != "" %}printf %s {{ message | append: "!" }}{% endif %}', (value: string) => `${value}!`],
    ['{% for m in messages %}printf %s {{ m }}; {% endfor %}', (value: string) => value],
  ] as const;

  it.each(places)('arrive unchanged in: %s', async (template, expected) => {
    expect(await outputs(template, attacks)).toEqual(attacks.map(expected));
    expect(await place.sandbox.list('')).toEqual([]);
  });

  it('arrive unchanged, whatever they are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
          { minLength: 10, maxLength: 20 },
        ),
        async (texts) => {
          expect(await outputs('printf %s {{ message }} "{{ message }}"', texts)).toEqual(texts.map((text) => text + text));
        },
      ),
      { numRuns: 6 },
    );
  });

  it.each([
    ["echo '{{ message }}'", 'inside single quotes'],
    ["awk '/{{ message }}/' in.csv", 'inside single quotes'],
    ['cat <<EOF\n{{ message }}\nEOF', 'after a here-document'],
    ['echo `echo {{ message }}`', 'inside backquotes'],
    ['echo "`echo {{ message }}`"', 'inside backquotes'],
    ['echo $(( {{ message }} + 1 ))', 'inside $(( ))'],
    [`echo \${x:-{{ message }}}`, 'inside a parameter'],
    ['echo \\{{ message }}', 'after a backslash'],
    ["echo $'a' {{ message }}", "after $'"],
    ["{% if true %}echo '{% endif %}{{ message }}'", 'inside single quotes'],
  ])('are refused in: %s', (template, location) => {
    expect(() => renderCommand(template, scope('x'))).toThrow(location);
  });

  it('never become a command, even if the shell grammar is not understood', async () => {
    const oddNames = [
      'echo "$(case x in x) printf %s {{ message }};; esac)"',
      'case {{ message }} in a) echo "{{ message }}" ;; *) echo {{ message }} ;; esac',
      'echo "$(echo ")" {{ message }})"',
    ];
    for (const template of oddNames) {
      const { stdout } = await execute(commandsOf(template, attacks));
      expect(stdout.split(end)).toHaveLength(attacks.length + 1);
    }
    expect(await place.sandbox.list('')).toEqual([]);
  });

  it('are lists joined with commas, and an empty text for nil', async () => {
    expect(await output('printf "[%s]" {{ answers.l }} {{ answers.n }}', '', { l: ['a', 'b c'], n: null })).toBe('[a, b c][]');
  });

  it('are inserted unchanged with | raw', async () => {
    expect(await output('echo {{ message | raw }}', 'a; echo b')).toBe('a\nb\n');
  });

  it('appear in the call as a person would write them', () => {
    expect(renderCommand('grep -c {{ message }} in.csv', scope("Acme's GmbH")).display).toBe("grep -c 'Acme'\\''s GmbH' in.csv");
    expect(renderCommand('wc -l < in.csv', scope('x'))).toEqual({ text: 'wc -l < in.csv', display: 'wc -l < in.csv' });
  });
});

it('quotes words', () => {
  expect(quote('plain-1.csv')).toBe('plain-1.csv');
  expect(quote('')).toBe("''");
  expect(quote("it's")).toBe("'it'\\''s'");
});

it('prevents a message to a run from becoming a command', async () => {
  const text = `version: 1
steps:
  - exec: { id: e, run: "echo {{ message }}" }
  - say: "{{ steps.e.stdout }}"
`;
  for (const message of attacks.filter((attack) => attack !== '-n' && attack !== '\\')) {
    const host = new TestHost(text, place.sandbox, { messages: [message] });
    expect(await drive(host)).toEqual({ status: 'completed' });
    expect(host.texts).toEqual([message.replace(/\n+$/, '')]);
  }
  expect(await place.sandbox.list('')).toEqual([]);
});
