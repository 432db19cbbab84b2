/** What is completed at each position of a command line, with a separate tree that has every kind of argument and flag. */
import { expect, it } from 'vitest';
import { aliasOf, defineCommand, defineGroup } from '../../src/cli/kit/command.ts';
import { anyArguments, argument, choice, flag, text, toggle } from '../../src/cli/kit/flags.ts';
import { globalFlags } from '../../src/cli/kit/global-flags.ts';
import { returns } from '../../src/cli/kit/result.ts';
import type { Entries } from '../../src/cli/kit/tree.ts';
import { topics } from '../../src/cli/program/topics/topics.ts';
import { candidates, candidateText, lineOf } from '../../src/commands/completion/candidates.ts';
import { type CommandWords, commandWords } from '../../src/commands/completion/command-words.ts';

const paint = defineCommand({
  summary: 'Paint things',
  arguments: { wall: argument('The wall', { complete: 'directories' }), files: anyArguments('Pictures', { complete: 'files' }) },
  options: {
    colour: choice(['red', 'blue'], 'The colour', { short: 'c' }),
    shine: toggle('Make it shine'),
    fast: flag('Hurry', { aliases: ['speedy', 'swift'] }),
    secret: flag('Not for everybody', { hidden: true }),
    note: text('TEXT', 'A note'),
    agent: text('AGENT', 'The agent', { complete: 'agents' }),
    folder: text('DIR', 'The folder', { complete: 'directories' }),
  },
  result: returns({ id: 'uuid', walls: [{ name: 'string' }] }),
  examples: [{ command: 'aops house paint', text: 'Paint' }],
  run: async () => undefined,
});
const load = async () => ({ default: paint });
const sell = defineCommand({
  summary: 'Sell it',
  arguments: { plan: argument('The plan', { complete: 'files' }) },
  examples: [{ command: 'aops house sell plan', text: 'Sell' }],
  run: async () => undefined,
});

const tree: Entries = {
  house: defineGroup({
    summary: 'Houses',
    commands: {
      paint: load,
      visit: load,
      brush: aliasOf('paint'),
      inner: defineGroup({ summary: 'Inside', commands: { paint: load, sell: async () => ({ default: sell }) } }),
    },
  }),
  open: { summary: 'Open it', load },
  __hidden: { summary: 'Hidden', load, hidden: true },
};
const commands: CommandWords = await commandWords(() => tree);

/** The candidates, as shells read them, and what has to be looked up. */
function offered(...words: string[]) {
  const line = lineOf(words);
  const known = candidates(commands, line);
  const lines = candidateText(known, line).split('\n').slice(0, -1);
  return known.lookUp === undefined ? lines : { lines, lookUp: known.lookUp };
}
const wordsOf = (...words: string[]): string[] => (offered(...words) as string[]).map((line) => line.split('\t')[0] as string);
const globalNames = candidates(commands, lineOf(['--'])).words.map(([name]) => name);

it.each<[string[], unknown]>([
  // Commands.
  [[], { lines: ['house\tHouses', 'open\tOpen it'], lookUp: 'user commands' }],
  [[''], { lines: ['house\tHouses', 'open\tOpen it'], lookUp: 'user commands' }],
  [['ho'], { lines: ['house\tHouses'], lookUp: 'user commands' }],
  [
    ['house', ''],
    ['paint\tPaint things', 'visit\tPaint things', 'inner\tInside'],
  ],
  [['house', 'v'], ['visit\tPaint things']],
  [['house', 'br'], ['brush\tPaint things']],
  [['house', 'nothing', ''], []],
  [['house', 'inner', 'p'], ['paint\tPaint things']],
  [['hause', ''], { lines: [], lookUp: 'user command' }],
  [['--quiet', 'hause', '-x', 'more', ''], { lines: [], lookUp: 'user command' }],
  [['constructor', ''], { lines: [], lookUp: 'user command' }],
  // Help.
  [
    ['help', 'house', ''],
    ['paint\tPaint things', 'visit\tPaint things', 'inner\tInside'],
  ],
  [['help', 'house', 'nothing', ''], []],
  [['help', 'open', ''], []],
  // Arguments.
  [['open', ''], [':directories']],
  [['open', 'wall', ''], [':files']],
  [['open', 'wall', 'a.png', 'b.png', ''], [':files']],
  [['house', 'brush', ''], [':directories']],
  [['house', 'inner', 'sell', ''], [':files']],
  [['house', 'inner', 'sell', 'plan', ''], []],
  // Values of flags.
  [
    ['open', '--colour', ''],
    ['red\t', 'blue\t'],
  ],
  [['open', '-c', 'b'], ['blue\t']],
  [['open', '--colour=b'], ['--colour=blue\t']],
  [['open', '--colour', '=', 'b'], ['blue\t']],
  [
    ['open', '--colour', '='],
    ['red\t', 'blue\t'],
  ],
  [['open', '--note', ''], []],
  [['open', '--folder', ''], [':directories']],
  [['open', 'wall', '--agent', ''], { lines: [], lookUp: { source: 'agents', of: 'wall' } }],
  [['--profile', ''], { lines: [], lookUp: { source: 'profiles', of: undefined } }],
  [['house', '--ca-file', ''], [':files']],
  // Flags without a value, and values of flags, are not arguments.
  [['open', '--fast', ''], [':directories']],
  [['open', '--note', 'text', ''], [':directories']],
  [['open', 'wall', '--agent', 'a', ''], [':files']],
  [['--profile', 'p', 'open', ''], [':directories']],
  // Fields.
  [
    ['open', '--fields', ''],
    ['id\tuuid', 'walls\tobject[]'],
  ],
  [['open', '--fields', 'id,'], ['id,walls\tobject[]']],
])('%j', (words, expected) => {
  expect(offered(...words)).toEqual(expected);
});

it('offers flags: those of the command, and those of all commands, but no hidden ones', () => {
  const own = ['--colour', '--shine', '--no-shine', '--fast', '--note', '--agent', '--folder'];
  expect(wordsOf('open', '--')).toEqual([...globalNames, ...own]);
  expect(offered('open', '--no-s')).toEqual(['--no-shine\tNot --shine']);
  expect(wordsOf('house', '--')).toEqual(globalNames);
  expect(globalNames).toHaveLength(Object.keys(globalFlags).length);
  // Other names are offered only if they are the only ones.
  expect(offered('open', '--s')).toEqual(['--shine\tMake it shine']);
  expect(offered('open', '--sp')).toEqual(['--speedy\tHurry']);
});

it('offers the topics of the help after the commands', () => {
  expect(wordsOf('help', '')).toEqual(['house', 'open', ...Object.keys(topics)]);
});

it('leaves out words with control characters, and keeps each candidate on one line', () => {
  const line = lineOf(['']);
  const words: [string, string][] = [
    ['plain', 'a\nb\tc\u202ed'],
    ['\nfirst', 'x'],
    ['mid\u001bdle', 'x'],
  ];
  expect(candidateText({ words }, line)).toBe('plain\ta b c d\n');
});
