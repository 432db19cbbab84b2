/** The figures of chaos runs, as a table with a column for each database. */
import { table } from '../../bench/support.js';
import type { DatabaseKind } from './cluster.ts';
import { nodeCounts } from './cluster.ts';
import { type FaultKind, faultNames } from './faults.ts';
import { type Property, properties } from './properties.ts';
import type { ScenarioResult } from './scenario.ts';

export interface Finished extends ScenarioResult {
  kind: DatabaseKind;
  violations: Record<Property, string[]>;
}

const databaseNames: Readonly<Record<DatabaseKind, string>> = { sqlite: 'SQLite', postgres: 'Postgres' };

export function reportOf(results: readonly Finished[]): string {
  const row = (name: string, cell: (result: Finished) => number | string): string[] => [name, ...results.map((one) => String(cell(one)))];
  const runsOf = ({ observation }: Finished, isScheduled: boolean): number =>
    observation.runs.filter(({ source }) => (source === 'schedule') === isScheduled).length;
  const faults = (Object.keys(faultNames) as FaultKind[]).filter((kind) => results.some((one) => one.faults.has(kind)));
  return table([
    row('', ({ kind }) => databaseNames[kind]),
    row('nodes', ({ kind }) => nodeCounts[kind]),
    row('runs, started by requests and cases', (one) => runsOf(one, false)),
    row('runs, started by schedules', (one) => runsOf(one, true)),
    row('cases', ({ observation }) => observation.cases.length),
    row('answers of a person', ({ observation }) => observation.acknowledged.filter(({ kind }) => kind === 'answer').length),
    row('messages in runs', ({ observation }) => observation.runs.reduce((sum, { messages }) => sum + messages.length, 0)),
    row('changes acknowledged', ({ client }) => client.changes),
    row('  answered with a stored response', ({ client }) => client.replayed),
    row('requests that were sent again', ({ client }) => client.retries),
    row('longest wait for a response', ({ client }) => `${(client.longestWait / 1_000).toFixed(1)} s`),
    row('webhook events received', ({ observation }) => new Set(observation.received.map(({ id }) => id)).size),
    row('  requests for them', ({ observation }) => observation.received.length),
    row('  refused by the receiver', ({ observation }) => observation.received.filter(({ isAccepted }) => !isAccepted).length),
    row('jobs taken over from another node', ({ kind, takeovers }) => (kind === 'sqlite' ? '-' : takeovers)),
    ...faults.map((kind) => row(faultNames[kind], (one) => one.faults.get(kind) ?? 0)),
    row('duration', ({ seconds }) => `${Math.round(seconds)} s`),
    ...(Object.keys(properties) as Property[]).map((property) =>
      row(properties[property], ({ violations }) => (violations[property].length === 0 ? 'yes' : `NO (${violations[property].length})`)),
    ),
  ]);
}

/** How many violations of a property are printed. */
const maxPrinted = 20;

/** The violations in words; empty if there are none. */
export const violationLines = ({ kind, violations }: Finished): string[] =>
  (Object.keys(properties) as Property[]).flatMap((property) => {
    const found = violations[property];
    const more = found.length > maxPrinted ? [`  … and ${found.length - maxPrinted} more`] : [];
    const lines = found.slice(0, maxPrinted).map((text) => `  ${text}`);
    return found.length === 0 ? [] : [`Violated on ${databaseNames[kind]}: ${properties[property]}`, ...lines, ...more];
  });
