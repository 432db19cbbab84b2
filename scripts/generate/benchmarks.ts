/** Writes the results of the benchmarks (bench/results.json) into the pages that show them, between two comments. */
import { readFileSync } from 'node:fs';
import { reportOf } from '../../bench/reports.js';

/** A measured value and its goal, both in the unit that is printed; undefined for a value that was not measured. */
interface Figure {
  label: string;
  value: number | undefined;
  goal: number;
  format: (value: number) => string;
}

const ratio = (digits: number) => (value: number) => `${value.toFixed(digits)}x`;
const milliseconds = (value: number): string => `${value.toFixed(0)} ms`;

interface Row {
  name: string;
  ratio: number;
  goal: number;
}

/** The parts of the results that the README shows. */
export interface Results {
  'start-up': { results: Row[] };
  listing: { time: Omit<Row, 'name'> };
  transfers: { results: Row[] };
  service: { requests: Row[]; page: Omit<Row, 'name'> };
  watching: { results: Record<'streamed' | 'polled', { p50_ms: number; goal: number }> };
  turns: { turns: Row[] };
  waiting: { waiting: { mib_per_run: number; goal: number } };
}

export const readResults = (): Results => JSON.parse(readFileSync('bench/results.json', 'utf8')) as Results;

/** The row of a benchmark whose name begins like this. @throws Error if there is none */
function rowOf(rows: readonly Row[], name: string): Row {
  const row = rows.find((candidate) => candidate.name.startsWith(name));
  if (row === undefined) throw new Error(`bench/results.json does not contain "${name}"; run \`npm run bench\`.`);
  return row;
}

function figuresOf(results: Results): Figure[] {
  const { 'start-up': startUp, listing, transfers, service, watching, turns, waiting } = results;
  const rowFigure = (label: string, { ratio: value, goal }: Omit<Row, 'name'>, digits = 2): Figure => ({
    ...{ label, value, goal },
    format: ratio(digits),
  });
  return [
    rowFigure('`aops --version`, relative to bare Node', rowOf(startUp.results, 'aops --version')),
    rowFigure('`aops runs list`, relative to bare Node', rowOf(startUp.results, 'aops runs list')),
    rowFigure('list 100,000 runs, relative to a loop over undici', listing.time),
    rowFigure('push 5,000 small files, relative to tar', rowOf(transfers.results, 'push 5000 files')),
    rowFigure('pull 5,000 small files, relative to tar', rowOf(transfers.results, 'pull 5000 files')),
    rowFigure('CPU time to get a run, relative to a server that only executes the query', rowOf(service.requests, 'get a run')),
    rowFigure('CPU time to list a page of 100,000 runs, relative to its queries alone', service.page),
    rowFigure(
      'CPU time of a change with an idempotency key, relative to a minimal durable server',
      rowOf(service.requests, 'create an agent'),
    ),
    rowFigure('CPU time of a run of one step, relative to a minimal durable server', rowOf(service.requests, 'complete a run')),
    { label: 'a message, from written to printed, streamed (median)', ...watched(watching.results.streamed) },
    { label: 'the same, polled (median)', ...watched(watching.results.polled) },
    rowFigure('a turn of an agent that takes 3 s, relative to the bare agent', rowOf(turns.turns, '3 s of work')),
    {
      label: 'memory for a run that waits for a person',
      ...{ value: waiting.waiting.mib_per_run, goal: waiting.waiting.goal },
      format: (value) => `${Number(value.toFixed(2))} MiB`,
    },
  ];
}

const watched = ({ p50_ms: value, goal }: { p50_ms: number; goal: number }) => ({ value, goal, format: milliseconds });

/** The table of the README: each figure with its goal, and whether it was missed. */
export function summary(results: Results): string {
  const rows = figuresOf(results).map(({ label, value, goal, format }) => {
    const isMissed = value === undefined || value > goal;
    const goalText = format(goal)
      .replace(/\.?0+x$/, 'x')
      .replace(/(\.\d)0x$/, '$1x');
    return `| ${label} | ${value === undefined ? 'not measured' : format(value)} | ${goalText}${isMissed ? ', missed' : ''} |`;
  });
  return ['| | measured | goal |', '| --- | --- | --- |', ...rows].join('\n');
}

/** The output of each benchmark, in the order in which they are executed. */
export const outputs = (results: object): string =>
  Object.entries(results)
    .map(([name, result]) => `\`\`\`text\n${reportOf(name, result as object)}\n\`\`\``)
    .join('\n\n');

const begin = '<!-- Written by `npm run generate` from bench/results.json. -->';
const end = '<!-- End of the figures. -->';

/** A page with other figures between its comments. @throws Error if it does not contain the comments */
export function withFigures(page: string, figures: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The page does not contain "${begin}" and "${end}".`);
  return `${page.slice(0, from + begin.length)}\n\n${figures}\n\n${page.slice(to)}`;
}
