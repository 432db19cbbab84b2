/** The texts of `aops help TOPIC`, which are also pages of the manual and man pages. Text to type is in backquotes. */
import { exitMeanings } from '../help.ts';
import { environmentRows, surroundingRows } from './environment.ts';
import { procedures } from './procedures.ts';
import type { Topic } from './topic.ts';

export const topics: Readonly<Record<string, Topic>> = {
  environment: {
    summary: 'Environment variables that aops reads',
    blocks: () => [
      'The first of these that has a value applies: a flag, the environment, the `.aops.toml` of the directory, the profile, a stored setting. `aops config explain` shows where each value comes from.',
      { rows: environmentRows() },
      { heading: 'Set by the system and other programs' },
      { rows: surroundingRows() },
    ],
  },
  'exit-codes': {
    summary: 'What the exit codes mean',
    blocks: () => [
      'Exit codes are the same in every output mode. For `aops runs watch`, `runs wait`, and `runs start --watch`, the exit code is the outcome of the run, even if the run ended earlier.',
      { rows: Object.entries(exitMeanings).map(([code, meaning]) => [code, meaning]) },
      'After exit 13, the error contains the key of the change; `aops retry KEY` settles it. After exit 12, answer with `aops inbox` or `aops runs respond`, then continue with `aops runs watch`.',
    ],
  },
  formatting: {
    summary: 'Output formats, fields, filters, colour, and width',
    blocks: () => [
      '`-o table` is the default and is for people. `--json` (the same as `-o json`), `ndjson`, `yaml`, `csv`, and `id` are for programs. On a terminal, a table fits the width, times are relative, and long output goes through a pager. In a pipe, a table is tab-separated and complete, without a header or colour, and times are ISO 8601.',
      {
        rows: [
          ['--fields a,b.c', 'Show only these fields, in every format; the help of each command lists its fields'],
          ['--jq EXPR', 'Filter the JSON, or each event of a stream, with jq, which is built in'],
          ['--template TEXT', 'Print each row or event with a Liquid template; \\t is a tab and \\n a line feed'],
          ['-o id', 'Show only IDs, one per line'],
          ['-o ndjson', 'Show one JSON object per line: rows as they are read, events as they happen'],
          ['--color auto|always|never', 'Overrides NO_COLOR, which overrides FORCE_COLOR'],
          ['-q, --quiet', 'Show only the result'],
        ],
      },
      { heading: 'Examples' },
      {
        code: [
          'aops runs list --fields id,status,agent_name',
          'aops runs list --all -o csv > runs.csv',
          `aops runs list --jq '.data[] | select(.status == "failed") | .id'`,
          'aops agents list --all -o ndjson | head -1',
          `aops runs list --template '{{ run_number }} {{ status | upcase }} {{ title }}'`,
        ],
      },
      'Text from a service or an agent never controls your terminal: control characters appear as `^[` or `\\u{202e}`.',
    ],
  },
  names: {
    summary: 'How to refer to a run, an agent, and other things',
    blocks: () => [
      'A run has a number, which is unique within the team and never reused. Every command that accepts a run accepts these forms:',
      {
        rows: [
          ['17, #17', 'The run with this number; quote `#17` in a shell, where # starts a comment'],
          ['release#17', 'The same run, but an error unless it belongs to the agent "release"'],
          ['@latest, @latest~1', 'The newest run of the team, the one before it, and so on'],
          ['01a20342-3a73…', 'Its ID, or at least the first 8 characters of it if they are unique'],
        ],
      },
      'One to seven digits are a number; eight or more are the beginning of an ID. A complete ID is used without a lookup. If a name matches several runs, the error lists them, and nothing is changed. A script that stores a run for later should store the ID, because a number belongs to one team.',
      'Refer to an agent, a queue, or a connection by name or ID; to a revision as `AGENT@live`, `AGENT@latest`, or `AGENT@2`; to an artifact by ID, by title, or as `@latest`.',
      { heading: 'Examples' },
      { code: ['aops runs get 17', 'aops runs watch @latest', "aops sandbox ls '#17' out", 'aops runs messages @latest~1 --jq .total'] },
    ],
  },
  procedures,
  scripting: {
    summary: 'What a script can rely on',
    blocks: () => [
      {
        rows: [
          ['stdout', 'only the result'],
          ['stderr', 'notes, progress, and errors; with --json, an error is one JSON object on the last line'],
          ['exit code', 'the same in every output mode; see `aops help exit-codes`'],
          ['JSON', 'a list is {"data": [...], "total", "limit", "offset"}; a single resource is the resource itself'],
          ['prompts', 'never without a terminal, in CI, or with --no-input; destructive commands then need --yes'],
          ['changes', 'carry an idempotency key and are carried out once, however often they are retried'],
        ],
      },
      { heading: 'Examples' },
      {
        code: [
          'RUN=$(aops runs start --agent invoice-check --message March -o id)',
          'aops runs wait "$RUN" --timeout 10m || echo "exit $?"',
          'aops runs start --agent invoice-check --idempotency-key nightly-11-20 -o id',
          'aops runs stop "$RUN" --dry-run',
          'aops api listRuns -f status=waiting --paginate --jq ".data | length"',
          `aops commands --json --jq '.data[] | {id, exit_codes, result}'`,
        ],
      },
      'Text can be passed as `@FILE`, or as `-` for standard input. `--timeout` limits a whole command (exit 9), and `--max-wait` limits the wait for a rate limit (exit 7).',
    ],
  },
};

/** The text that `aops help TOPIC` prints. */
export function topicText({ summary, blocks }: Topic): string {
  const parts = blocks().map((block) => {
    if (typeof block === 'string') return wrap(withoutBackticks(block), 0);
    if ('heading' in block) return `${block.heading}:`;
    if ('code' in block) return block.code.map((line) => `  ${line}`).join('\n');
    const width = Math.min(28, Math.max(...block.rows.map(([word]) => word.length)));
    return block.rows.map(([word, meaning]) => row(word, withoutBackticks(meaning), width)).join('\n');
  });
  return `${summary}.\n\n${parts.join('\n\n')}\n`;
}

const withoutBackticks = (text: string): string => text.replaceAll('`', '');

const textWidth = 80;

function row(word: string, meaning: string, width: number): string {
  const indent = width + 4;
  const text = wrap(meaning, indent);
  return word.length > width ? `  ${word}\n${' '.repeat(indent)}${text}` : `  ${word.padEnd(width)}  ${text}`;
}

/** Text on lines of `textWidth` columns, indented after the first. */
function wrap(text: string, indent: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && indent + line.length + 1 + word.length <= textWidth) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}
