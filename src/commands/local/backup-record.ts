/** How a backup is displayed, by the commands that write and read one. */
import { pluralize } from '../../base/pluralize.ts';
import type { FieldShapes } from '../../cli/kit/result.ts';
import { formatSize } from '../../terminal/size.ts';

/** The metadata of a backup, and a summary of its contents. */
export interface BackupRecord {
  format: number;
  version: string;
  schema: string;
  created_at: string;
  agents: number;
  runs: number;
  open_runs: number;
  sandboxes: number;
  files: number;
  /** Uncompressed size of all files. */
  content_bytes: number;
}

export const backupFields = {
  format: 'integer',
  version: 'string',
  schema: 'string',
  created_at: 'date-time',
  agents: 'integer',
  runs: 'integer',
  open_runs: 'integer',
  sandboxes: 'integer',
  files: 'integer',
  content_bytes: 'integer',
} as const satisfies FieldShapes;

/** The contents of a backup in one line. */
export function contentsInWords({ agents, runs, open_runs, sandboxes, files, content_bytes }: BackupRecord): string {
  const open = open_runs === 0 ? '' : ` (${open_runs} unfinished)`;
  return `${pluralize(agents, 'agent')}, ${pluralize(runs, 'run')}${open}, ${pluralize(sandboxes, 'sandbox', 'sandboxes')} with files; ${pluralize(files, 'file')}, ${formatSize(content_bytes)}`;
}
