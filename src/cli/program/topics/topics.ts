/** What `aops help TOPIC` says. The same texts become pages of the manual and man pages. Words as they are typed stand in backquotes. */
import { exitMeanings } from '../help.ts';
import { environmentRows, surroundingRows } from './environment.ts';
import { procedures } from './procedures.ts';
import type { Topic } from './topic.ts';

export const topics: Readonly<Record<string, Topic>> = {
  environment: {
    summary: 'Environment variables that aops reads',
    blocks: () => [
      'A flag beats the environment, the environment beats the profile, the profile beats a stored setting. `aops config explain` shows which counted.',
      { rows: environmentRows() },
      { heading: 'Set by the system and other programs' },
      { rows: surroundingRows() },
    ],
  },
  'exit-codes': {
    summary: 'What the exit code says',
    blocks: () => [
      'The same in every output mode. `aops runs watch`, `runs wait` and `runs start --watch` end with the outcome of the run, also of one that ended earlier.',
      { rows: Object.entries(exitMeanings).map(([code, meaning]) => [code, meaning]) },
      'Exit 13 names the key of the change; `aops retry KEY` settles it. After exit 12, answer with `aops inbox` or `aops runs respond` and go on with `aops runs watch`.',
    ],
  },
  formatting: {
    summary: 'Output formats, fields, filters, colour and width',
    blocks: () => [
      '`-o table` is for people and the default. `--json` (the same as `-o json`), `ndjson`, `yaml`, `csv` and `id` are for programs. On a terminal a table fits its width, times are relative, and long output goes through a pager. In a pipe it is tab-separated, whole, without header or colour, and times are ISO 8601.',
      {
        rows: [
          ['--fields a,b.c', 'Only these fields, in every format; help lists the fields of each command'],
          ['--jq EXPR', 'Filter the JSON; jq is built in'],
          ['-o id', 'Ids alone, one a line'],
          ['-o ndjson', 'One JSON object a line: rows as they are read, events as they happen'],
          ['--color auto|always|never', 'Beats NO_COLOR, which beats FORCE_COLOR'],
          ['-q, --quiet', 'Nothing but the result'],
        ],
      },
      { heading: 'Examples' },
      {
        code: [
          'aops runs list --fields id,status,agent_name',
          'aops runs list --all -o csv > runs.csv',
          `aops runs list --jq '.data[] | select(.status == "failed") | .id'`,
          'aops agents list --all -o ndjson | head -1',
        ],
      },
      'What a service or an agent wrote is never passed to a terminal as it is: control characters show as `^[` or `\\u{202e}`.',
    ],
  },
  names: {
    summary: 'How to name a run, an agent and other things',
    blocks: () => [
      'A run has a number, which is its own within the team and never used again. Wherever a command takes a run, these name it:',
      {
        rows: [
          ['17, #17', 'The run with this number; quote `#17` in a shell, where # begins a comment'],
          ['release#17', 'The same, and an error unless it is a run of the agent "release"'],
          ['@latest, @latest~1', 'The newest run of the team, the one before it, and so on'],
          ['01a20342-3a73…', 'Its id, or the first 8 characters or more of it when no other run begins with them'],
        ],
      },
      'One to seven digits are a number; eight or more are the beginning of an id. A whole id is used as it is, without a request. A name that several runs have is an error that lists them, and nothing is changed. A script that keeps a run for later should keep the id: a number belongs to one team.',
      'An agent, a queue and a connection are named by name or id; a revision as `AGENT@live`, `AGENT@latest` or `AGENT@2`; an artifact by id, by title, or as `@latest`.',
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
          ['stdout', 'the result, and nothing else'],
          ['stderr', 'notes, progress, errors; with --json an error is one JSON object, the last line'],
          ['exit code', 'the same in every output mode; see `aops help exit-codes`'],
          ['JSON', 'a list is {"data": [...], "total", "limit", "offset"}, one resource is the resource itself'],
          ['prompts', 'never without a terminal, in CI, or with --no-input; destructive commands then need --yes'],
          ['changes', 'carry an idempotency key and happen once, however often they are retried'],
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
      'Texts may be given as `@FILE`, or `-` for standard input. `--timeout` limits a whole command (exit 9), `--max-wait` what a rate limit may ask for (exit 7).',
    ],
  },
};

/** A topic as it is printed. */
export function topicText({ summary, blocks }: Topic): string {
  const parts = blocks().map((block) => {
    if (typeof block === 'string') return wrap(plain(block), 0);
    if ('heading' in block) return `${block.heading}:`;
    if ('code' in block) return block.code.map((line) => `  ${line}`).join('\n');
    const width = Math.min(28, Math.max(...block.rows.map(([word]) => word.length)));
    return block.rows.map(([word, meaning]) => row(word, plain(meaning), width)).join('\n');
  });
  return `${summary}.\n\n${parts.join('\n\n')}\n`;
}

const plain = (text: string): string => text.replaceAll('`', '');

const textWidth = 80;

function row(word: string, meaning: string, width: number): string {
  const indent = width + 4;
  const text = wrap(meaning, indent);
  return word.length > width ? `  ${word}\n${' '.repeat(indent)}${text}` : `  ${word.padEnd(width)}  ${text}`;
}

/** Words on lines of `textWidth` columns, those after the first indented. */
function wrap(text: string, indent: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && indent + line.length + 1 + word.length <= textWidth) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}
