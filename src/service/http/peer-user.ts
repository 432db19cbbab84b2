/**
 * The user whose program is at the other end of a connection from this machine. The kernel of Linux reports it in /proc/net/tcp
 * (proc_pid_net(5)): each socket with its owner, also the client's.
 */
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** The state of a connection that is open in both directions (include/net/tcp_states.h). */
const established = '01';

/** The columns of a row that matter: addresses as `HEX:PORT`, the state, and the user ID. */
const row = /^\s*\d+:\s+[0-9A-F]+:([0-9A-F]{4})\s+[0-9A-F]+:([0-9A-F]{4})\s+([0-9A-F]{2})\s+\S+\s+\S+\s+\S+\s+(\d+)\s/gm;

/** The users that own a connection from one port of this machine to another, as a table of the kernel lists them. Pure. */
export function ownersOf(table: string, from: number, to: number): number[] {
  const [source, target] = [from, to].map((port) => port.toString(16).toUpperCase().padStart(4, '0'));
  return [...table.matchAll(row)]
    .filter(([, local, remote, state]) => local === source && remote === target && state === established)
    .map(([, , , , user]) => Number(user));
}

const verdicts = new WeakMap<Socket, Promise<boolean>>();

/** Whether the client of a connection from this machine is a program of the user of this process. True where the system does not report it. */
export function isOfSameUser(socket: Socket): Promise<boolean> {
  let verdict = verdicts.get(socket);
  if (verdict === undefined) {
    verdict = findOut(socket);
    verdicts.set(socket, verdict);
  }
  return verdict;
}

async function findOut({ remotePort, localPort }: Socket): Promise<boolean> {
  const user = process.geteuid?.();
  if (user === undefined || process.platform !== 'linux') return true;
  if (remotePort === undefined || localPort === undefined) return false;
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFile(file, 'utf8').catch(() => '')));
  if (tables.every((table) => table === '')) return true;
  const owners = tables.flatMap((table) => ownersOf(table, remotePort, localPort));
  return owners.length > 0 && owners.every((owner) => owner === user);
}
