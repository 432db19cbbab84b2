/** The nodes of a shared database, as `aops local status` shows them. */

import { pluralize } from '../../base/pluralize.ts';
import { column, timeColumn } from '../../cli/kit/output.ts';
import type { FieldShapes } from '../../cli/kit/result.ts';
import type { SeenNode } from '../../service/service.ts';

export interface NodeStatus {
  id: string;
  name: string;
  url: string;
  version: string;
  /** Whether it was seen during the last 15 seconds. A node that has ended properly is not listed. */
  alive: boolean;
  connections: number;
  started_at: string;
  last_seen_at: string;
  /** The runs that it is executing. */
  runs: string[];
  /** All of its jobs, including those runs. */
  jobs: number;
}

export const nodeFields = {
  id: 'uuid',
  name: 'string',
  url: 'url',
  version: 'string',
  alive: 'boolean',
  connections: 'integer',
  started_at: 'date-time',
  last_seen_at: 'date-time',
  runs: 'uuid[]',
  jobs: 'integer',
} as const satisfies FieldShapes;

export const nodeStatus = ({ id, name, url, version, connections, started_at, seen_at, isAlive, work }: SeenNode): NodeStatus => ({
  ...{ id, name, url, version, alive: isAlive, connections, started_at },
  last_seen_at: new Date(seen_at).toISOString(),
  runs: work.filter(({ kind }) => kind === 'run').map(({ subjectId }) => subjectId),
  jobs: work.length,
});

/** What a node does, in a few words. */
function workInWords({ runs, jobs }: NodeStatus): string {
  const others = jobs - runs.length;
  const parts = [
    ...(runs.length === 0 ? [] : [pluralize(runs.length, 'run')]),
    ...(others === 0 ? [] : [pluralize(others, runs.length === 0 ? 'job' : 'other job')]),
  ];
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

export const nodeColumns = [
  column<NodeStatus>('NODE', (node) => node.name, { shrink: true }),
  column<NodeStatus>('ADDRESS', (node) => node.url, { shrink: true }),
  column<NodeStatus>('VERSION', (node) => node.version),
  column<NodeStatus>('ALIVE', (node) => (node.alive ? 'yes' : 'no')),
  timeColumn<NodeStatus>('STARTED', (node) => node.started_at),
  timeColumn<NodeStatus>('SEEN', (node) => node.last_seen_at),
  column<NodeStatus>('EXECUTING', workInWords, { shrink: true }),
];
