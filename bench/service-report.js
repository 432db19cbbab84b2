/** The results of service.js as text. */
import { ratioCells, table } from './support.js';

const formatFixed = (value, digits = 0) => (value === undefined || value === null || Number.isNaN(value) ? '-' : value.toFixed(digits));
const microseconds = (value) => `${formatFixed(value)} µs`;
const verdict = (isMet, goal) => `goal ${goal} ${isMet ? 'met' : 'MISSED'}`;

function requestsTable(requests) {
  const head = ['CPU time', 'bare', 'floor', 'service', 'service / floor', 'goal', 'a second: bare', 'floor', 'service'];
  const rows = requests.map(({ name, recorded, floor, service, ratio, goal }) => [
    name,
    ...[recorded, floor, service].map(({ cpu_us }) => microseconds(cpu_us)),
    ...ratioCells(ratio, goal),
    ...[recorded, floor, service].map(({ per_second }) => formatFixed(per_second)),
  ]);
  return table([head, ...rows]);
}

function flatTable(flat, fewRuns, runs) {
  const rows = flat.map(({ name, few_us, many_us, ratio, goal }) => [
    `list ${name}`,
    microseconds(few_us),
    microseconds(many_us),
    ...ratioCells(ratio, goal),
  ]);
  return table([['CPU of a list', `${fewRuns} runs`, `${runs} runs`, 'ratio', 'goal'], ...rows]);
}

/** The tables and lines that `service.js` prints. */
export function serviceReport({ requests, page, flat = [], single, start, memory, runs, few_runs }) {
  const parts = [];
  if (requests.length > 0) parts.push(requestsTable(requests));
  if (flat.length > 0) parts.push(flatTable(flat, few_runs, runs));
  const lines = [];
  if (page) {
    const { sql_us, service_us, ratio, goal } = page;
    lines.push(
      `a page of the list: its statements alone ${microseconds(sql_us)}, the service ${microseconds(service_us)}: ${ratio.toFixed(2)}x, ${verdict(ratio <= goal, `${goal}x`)}`,
    );
  }
  if (single)
    lines.push(
      `one run alone: ${formatFixed(single.run_ms, 1)} ms until it has ended; one sync of this disk: ${formatFixed(single.sync_ms, 1)} ms`,
    );
  if (start)
    lines.push(
      `ready after ${formatFixed(start.ready_ms)} ms (bare Node ${formatFixed(start.bare_node_ms)} ms), ${verdict(start.ready_ms <= start.goal, `${start.goal} ms`)}`,
    );
  const { idle_mib, loaded_mib, peak_mib, goal } = memory;
  if (idle_mib !== undefined)
    lines.push(
      `memory: idle ${idle_mib} MiB, ${verdict(idle_mib <= goal, `${goal} MiB`)}; after the load ${loaded_mib} MiB, at most ${peak_mib} MiB`,
    );
  parts.push(lines.join('\n'));
  return parts.filter((part) => part !== '').join('\n\n');
}
