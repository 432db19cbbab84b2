/** The results of each benchmark as text. `npm run generate` writes the same texts into docs/benchmarks.md (scripts/generate/benchmarks.ts). */
import process from 'node:process';
import { serviceReport } from './service-report.js';
import { ratioCells, table } from './support.js';

const verdict = (isMet, goal) => `${goal} ${isMet ? 'met' : 'MISSED'}`;
const whole = (value, unit) => `${value.toFixed(0)} ${unit}`;

function startUpReport({ results, executable_mib }) {
  const cells = ({ name, median_ms, min_ms, peer, ratio, goal }) => [
    name,
    `${median_ms.toFixed(1)} ms`,
    `${min_ms.toFixed(1)} ms`,
    peer,
    ...ratioCells(ratio, goal),
  ];
  const size = executable_mib === undefined ? '' : `\nsize of the executable: ${executable_mib.toFixed(0)} MiB`;
  return `${table([['', 'median', 'min', 'relative to', 'ratio', 'goal'], ...results.map(cells)])}${size}`;
}

function listingReport({ runs, few_runs, time, memory }) {
  return table([
    ['', 'median', 'ratio', 'goal'],
    [`undici loop, ${runs} runs`, whole(time.bare_ms, 'ms'), '1.00x', ''],
    ['aops runs list --all -o ndjson', whole(time.aops_ms, 'ms'), ...ratioCells(time.ratio, time.goal)],
    ['  peak memory of the loop', whole(memory.bare_kb / 1_024, 'MiB'), '', ''],
    [`  peak memory, ${few_runs} runs`, whole(memory.few_kb / 1_024, 'MiB'), '1.00x', ''],
    [`  peak memory, ${runs} runs`, whole(memory.many_kb / 1_024, 'MiB'), ...ratioCells(memory.ratio, memory.goal)],
  ]);
}

function transfersReport({ results }) {
  const lines = results.map(({ name, peer, peer_ms, peer_unsynced_ms, aops_ms, ratio, goal, peak_mib }) => {
    const memory = peak_mib === undefined ? '' : `, peak memory ${peak_mib} MiB`;
    const [figure, met] = ratioCells(ratio, goal);
    const peerTimes = `${peer} ${whole(peer_ms, 'ms')} (${whole(peer_unsynced_ms, 'ms')} without syncing)`;
    return `${name}: ${peerTimes}, aops ${whole(aops_ms, 'ms')}: ${figure}, goal ${met}${memory}`;
  });
  return lines.join('\n');
}

function searchReport({ searches, waiting, few_runs, runs }) {
  const format = (milliseconds) => `${milliseconds.toFixed(1)} ms`;
  const head = ['search for', `${few_runs} runs`, `${runs} runs`, 'ratio', 'goal'];
  const rows = searches.map(({ name, few_ms, many_ms, ratio, goal }) => [
    name,
    format(few_ms),
    format(many_ms),
    ...ratioCells(ratio, goal),
  ]);
  const { alone_ms, during_ms, maximum_ms, goal } = waiting;
  return `${table([head, ...rows])}

a request for one run takes ${format(alone_ms)}; while two others search and count all runs, ${format(during_ms)},
at most ${format(maximum_ms)}: goal ${verdict(maximum_ms <= goal, `${goal} ms`)}`;
}

function manyRunsReport({ few_runs, runs, sqlite, postgres }) {
  const format = (milliseconds) => `${milliseconds.toFixed(1)} ms`;
  const databaseTable = (database, results) =>
    table([
      [database, `${few_runs} runs`, `${runs} runs`, 'ratio', 'goal'],
      ...results.map(({ name, few_ms, many_ms, ratio, goal }) => [name, format(few_ms), format(many_ms), ...ratioCells(ratio, goal)]),
    ]);
  return [databaseTable('SQLite', sqlite), databaseTable('Postgres', postgres)].join('\n\n');
}

function watchingReport({ results }) {
  const rows = Object.entries(results).map(([way, { p50_ms, p90_ms, max_ms, goal }]) => [
    way,
    ...[p50_ms, p90_ms, max_ms].map((value) => whole(value, 'ms')),
    verdict(p50_ms <= goal, `${goal} ms`),
  ]);
  return table([['written to printed', 'p50', 'p90', 'maximum', 'goal at p50'], ...rows]);
}

function watchingManyReport({ results, goal_share }) {
  const rows = Object.entries(results).map(([way, { cpu_share, memory_mib, requests_per_minute, delay_p50_ms }]) => [
    way,
    `${(cpu_share * 100).toFixed(1)} % ${cpu_share <= goal_share ? 'met' : 'MISSED'}`,
    `${memory_mib} MiB`,
    String(Math.round(requests_per_minute)),
    delay_p50_ms === null ? 'none' : whole(delay_p50_ms, 'ms'),
  ]);
  return table([['watching', `CPU (goal ${goal_share * 100} %)`, 'memory', 'requests/min', 'written to printed'], ...rows]);
}

function turnsReport({ turns }) {
  const duration = (value) => (value === undefined ? '-' : whole(value, 'ms'));
  const rows = turns.map(({ name, bare_ms, host_ms, contained_ms, ratio, goal }) => [
    name,
    duration(bare_ms),
    duration(host_ms),
    ...ratioCells(ratio, goal),
    duration(contained_ms),
  ]);
  return table([['a turn of an agent', 'bare', 'service', 'ratio', 'goal', 'contained'], ...rows]);
}

function waitingReport({ waiting }) {
  const { runs, before_mib: before, after_mib: after, mib_per_run, processes_at_first, processes, goal } = waiting;
  const isMet = mib_per_run <= goal && processes === 0;
  return `${runs} runs that wait: at most ${mib_per_run.toFixed(2)} MiB and ${(processes / runs).toFixed(2)} processes each, goal ${goal} MiB and none ${isMet ? 'met' : 'MISSED'}
  processes of agents: ${processes_at_first} at first, ${processes} after the idle timeout
  memory without them: heap ${before.heap.toFixed(1)} MiB, then ${after.heap.toFixed(1)} MiB; resident ${before.resident} MiB, then ${after.resident} MiB`;
}

/** Rates are better the higher they are. */
const rateCells = (ratio, goal) =>
  ratio === undefined ? ['', ''] : [`${ratio.toFixed(2)}x`, goal === undefined ? '' : `${goal}x ${ratio >= goal ? 'met' : 'MISSED'}`];

function nodesReport({ database, missing, runs, keyed, reads, takeover }) {
  const head = ['complete', 'steps', 'a second', 'lowest to highest', 'CPU of each', 'of Postgres', 'relative to', 'ratio', 'goal'];
  const rows = runs.map(({ name, steps, per_second, lowest, highest, cpu_ms, database_cpu_ms, peer = '', ratio, goal }) => [
    name,
    String(steps),
    per_second.toFixed(0),
    `${lowest.toFixed(0)} to ${highest.toFixed(0)}`,
    `${cpu_ms.toFixed(2)} ms`,
    `${database_cpu_ms.toFixed(2)} ms`,
    peer,
    ...rateCells(ratio, goal),
  ]);
  const parts = [table([head, ...rows])];
  if (missing !== undefined) parts.push(`${missing}. Nothing was compared with it.`);
  parts.push(table([['changes with a key', 'a second'], ...keyed.map(({ name, per_second }) => [name, per_second.toFixed(0)])]));
  const [{ clients }] = reads;
  parts.push(
    table([
      ['a run is read', 'quiet', `while ${clients} clients start runs`, 'ratio', 'goal'],
      ...reads.map(({ name, idle_ms, busy_ms, ratio, goal }) => [
        name,
        ...[idle_ms, busy_ms].map((milliseconds) => `${milliseconds.toFixed(1)} ms`),
        ...ratioCells(ratio, goal),
      ]),
    ]),
  );
  if (takeover.length > 0) {
    const seconds = (milliseconds) => `${(milliseconds / 1_000).toFixed(1)} s`;
    const times = takeover.map(({ name, runs: count, median_ms, maximum_ms }) => [
      name,
      String(count),
      ...[median_ms, maximum_ms].map(seconds),
    ]);
    parts.push(table([['from kill -9 to the next step', 'runs', 'median', 'maximum'], ...times]));
  }
  return `${parts.join('\n\n')}\n\n${database}`;
}

/** By the name of the benchmark. */
const reports = {
  'start-up': startUpReport,
  listing: listingReport,
  transfers: transfersReport,
  service: serviceReport,
  search: searchReport,
  'many-runs': manyRunsReport,
  nodes: nodesReport,
  watching: watchingReport,
  'watching-many': watchingManyReport,
  turns: turnsReport,
  waiting: waitingReport,
};

/** The text of a result, with the circumstances of the measurement. */
export const reportOf = (name, result) => `${reports[name](result)}\n\n${result.circumstances}`;

/** Prints a result as JSON or as text. */
export function printResult(name, result, asJson) {
  process.stdout.write(asJson ? `${JSON.stringify(result, null, 2)}\n` : `${reportOf(name, result)}\n`);
}
