/** What the commands that export and import the data of a service have in common: their result, and what they show meanwhile. */
import { pluralize } from '../../base/pluralize.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { FieldShapes } from '../../cli/kit/result.ts';
import type { MoveProgress } from '../../service/exports/index.ts';
import { startSpinner } from '../../terminal/progress.ts';
import { formatSize } from '../../terminal/size.ts';

/** What an export contains, and where its data is. */
export interface MoveRecord {
  folder: string;
  data_dir: string | null;
  /** `host:port/database` */
  database: string | null;
  format: number;
  version: string;
  schema: string;
  /** Of all tables. */
  rows: number;
  runs: number;
  sandboxes: number;
  /** Files of runs outside of their sandboxes, such as screenshots. */
  files: number;
  /** Size of all files and sandboxes. */
  content_bytes: number;
}

export const moveFields = {
  folder: 'string',
  data_dir: 'string|null',
  database: 'string|null',
  format: 'integer',
  version: 'string',
  schema: 'string',
  rows: 'integer',
  runs: 'integer',
  sandboxes: 'integer',
  files: 'integer',
  content_bytes: 'integer',
} as const satisfies FieldShapes;

interface Manifest {
  format: number;
  version: string;
  schema: string;
  tables: readonly { name: string; rows: number }[];
}

/** @param progress that of reading or writing the export as a whole */
export function contentsOf({ format, version, schema, tables }: Manifest, { sandboxes, files, bytes }: MoveProgress) {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const runs = tables.find(({ name }) => name === 'runs')?.rows ?? 0;
  return { format, version, schema, rows, runs, sandboxes, files, content_bytes: bytes };
}

/** The contents of an export in one line. */
export const contentsInWords = ({ runs, sandboxes, files, rows, content_bytes }: MoveRecord): string =>
  `${pluralize(runs, 'run')}, ${pluralize(sandboxes, 'sandbox', 'sandboxes')}, ${pluralize(files, 'file')} (${formatSize(content_bytes)}); ${pluralize(rows, 'row')}`;

const updateMilliseconds = 200;

/** Progress that is shown on a terminal, until `stop` is called. */
export interface ShownProgress {
  /** @param verb such as `Exporting` */
  begin(verb: string): MoveProgress;
  stop(): void;
}

export function showProgress({ terminal, clock }: Context, newProgress: (onChange: () => void) => MoveProgress): ShownProgress {
  const spinner = startSpinner(terminal, 'Reading', clock);
  let updatedAt = clock.now();
  return {
    begin(verb) {
      const progress = newProgress(() => {
        if (clock.now() - updatedAt < updateMilliseconds) return;
        updatedAt = clock.now();
        const { rows, files, sandboxes, bytes } = progress;
        const done = [pluralize(rows, 'row'), pluralize(files, 'file'), pluralize(sandboxes, 'sandbox', 'sandboxes'), formatSize(bytes)];
        spinner.update(`${verb}: ${done.join(', ')}`);
      });
      return progress;
    },
    stop: spinner.stop,
  };
}

/** Does work that can be continued after Ctrl-C, and says so. */
export async function continuable<Result>(
  { signal, terminal }: { signal: AbortSignal; terminal: Pick<Context['terminal'], 'note'> },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!signal.aborted) throw error;
    terminal.note('Interrupted. Run the same command again to continue.');
    throw signal.reason;
  }
}
