/**
 * The names of nodes: no two nodes that are alive have the same one, if their operator has chosen it. A lock of the name belongs to the
 * connection for notifications, so it ends with the process, however that ends.
 */
import type pg from 'pg';
import { steadyTime, systemClock } from '../../../../base/clock.ts';
import { AopsError, exitCodes } from '../../../../base/errors.ts';
import { nodeSilence } from '../node-silence.ts';

/** Milliseconds for which a node with the name is given time to end, as one that was just killed. */
const grace = 2_000;
const pollInterval = 200;

const lastSeen = `select url, extract(epoch from clock_timestamp()) * 1000 - seen_at as silence from nodes
  where name = $1 order by seen_at desc limit 1`;

/**
 * Waits until no other node that is alive has the name. One that is frozen, or on a machine that was lost, keeps its lock but is not seen
 * any more.
 * @param hold locks the name for this process; false if another one has locked it
 * @throws AopsError `node_name_taken`
 */
export async function requireNodeName(pool: Pick<pg.Pool, 'query'>, name: string, hold: () => Promise<boolean>): Promise<void> {
  const startedAt = steadyTime(systemClock);
  while (!(await hold())) {
    const { rows } = await pool.query<{ url: string; silence: number }>(lastSeen, [name]);
    const [node] = rows;
    const waited = steadyTime(systemClock) - startedAt;
    if (node !== undefined && node.silence > nodeSilence) return;
    if (node !== undefined && waited >= grace) throw nameTaken(name, node.url);
    // Without a row, it is starting, or it is on a lost machine and its row was removed.
    if (node === undefined && waited >= nodeSilence) return;
    await systemClock.sleep(pollInterval);
  }
}

const nameTaken = (name: string, url: string): AopsError =>
  new AopsError(`A node with the name "${name}" is running at ${url}.`, {
    code: 'node_name_taken',
    exit: exitCodes.conflict,
    hint: `Choose another name with --node-name. If the machine of that node has just been lost, try again in ${nodeSilence / 1_000} seconds.`,
  });
