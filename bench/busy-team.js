/** How long a read takes while clients of one team start runs, for the benchmark of nodes. */
import { setTimeout } from 'node:timers/promises';
import { openAll, procedureOf } from './cluster.js';
import { requestBytes } from './comparison.js';
import { newAgent, untilEnded } from './seeded.js';
import { median } from './support.js';

/** Milliseconds between two reads. */
const pause = 5;

/**
 * Reads a run again and again, at first while nothing else happens, and then while clients start others, all of the same team. Resolves
 * with the median times in milliseconds.
 */
export async function readsOfBusyTeam({ nodes, team, token, call }, milliseconds, clientCount) {
  const agentId = await newAgent(call, team, procedureOf(1));
  const list = `/v2/teams/${team}/runs`;
  const { run } = await call('POST', list, { agent_id: agentId });
  await untilEnded(call, run.id);
  const idle_ms = await readTime(call, run.id, milliseconds / 2);
  const connections = await openAll(nodes, clientCount);
  const make = requestBytes({ method: 'POST', pathname: list, body: () => JSON.stringify({ agent_id: agentId }) }, token);
  const load = connections.run(make, { milliseconds });
  const busy_ms = await readTime(call, run.id, milliseconds);
  await load;
  connections.close();
  while ((await call('GET', `${list}?agent_id=${agentId}&count_only=true`)).total > (await endedCount(call, list, agentId)))
    await setTimeout(50);
  return { idle_ms, busy_ms };
}

const endedCount = async (call, list, agentId) => (await call('GET', `${list}?agent_id=${agentId}&count_only=true&status=completed`)).total;

async function readTime(call, runId, milliseconds) {
  const times = [];
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    const startedAt = performance.now();
    await call('GET', `/v2/runs/${runId}`);
    times.push(performance.now() - startedAt);
    await setTimeout(pause);
  }
  return median(times);
}
