/** How a backup is shown, by who writes one and by who reads one. */
import { pluralize } from '../../base/pluralize.ts';
import type { FieldShapes } from '../../cli/kit/result.ts';
import { formatSize } from '../../terminal/size.ts';

/** What a backup says of itself, and what is in it. */
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
  /** Of all files, unpacked. */
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

/** What is in it, in one line. */
export function contentsInWords({ agents, runs, open_runs, sandboxes, files, content_bytes }: BackupRecord): string {
  const open = open_runs === 0 ? '' : ` (${open_runs} not ended)`;
  return `${pluralize(agents, 'agent')}, ${pluralize(runs, 'run')}${open}, ${pluralize(sandboxes, 'sandbox', 'sandboxes')}; ${pluralize(files, 'file')}, ${formatSize(content_bytes)}`;
}
