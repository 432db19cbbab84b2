/** Shared by the benchmarks: running programs, medians, and the table. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

export const launcher = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', 'bin', 'aops.js');

/**
 * The environment without variables that would change the results: aops's own variables, options of Node, proxies, and additional
 * certificates, which Node reads at every start (they double the time of bare Node, and would make every ratio look better than it is).
 */
export function cleanEnvironment(folder) {
  const harmlessEntries = Object.entries(process.env).filter(
    ([name]) => !/^(AOPS_|NODE_|https?_proxy$|all_proxy$|no_proxy$|ssl_cert_)/i.test(name),
  );
  const folders = ['CONFIG', 'DATA', 'CACHE'].map((kind) => [`AOPS_${kind}_DIR`, path.join(folder, kind.toLowerCase())]);
  return { ...Object.fromEntries(harmlessEntries), HOME: folder, ...Object.fromEntries(folders) };
}

/**
 * Runs a program to its end. Returns its duration in milliseconds, the number of printed lines, and peak memory in kB (Linux); with
 * `keep`, also its output. Throws if it fails.
 */
export async function runMeasured(command, args, env, { keep = false } = {}) {
  const startedAt = process.hrtime.bigint();
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let lines = 0;
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    if (keep) stdout += chunk;
    for (let index = chunk.indexOf(10); index >= 0; index = chunk.indexOf(10, index + 1)) lines += 1;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  let peakKilobytes = 0;
  const watch = setInterval(() => {
    readFile(`/proc/${child.pid}/status`, 'utf8').then(
      (status) => {
        peakKilobytes = Math.max(peakKilobytes, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
      },
      () => undefined,
    );
  }, 10);
  const [code] = await once(child, 'close');
  clearInterval(watch);
  const milliseconds = Number(process.hrtime.bigint() - startedAt) / 1e6;
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}: ${stderr}`);
  return { milliseconds, lines, stdout, peakKilobytes };
}

export function median(values) {
  const sortedValues = [...values].sort((a, b) => a - b);
  const middle = sortedValues.length >> 1;
  return sortedValues.length % 2 === 1 ? sortedValues[middle] : (sortedValues[middle - 1] + sortedValues[middle]) / 2;
}

/** Rows of text as columns: the first left-aligned, the others right-aligned. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

/** `1.13x`, and `1.25x met` next to it. */
export const ratioCells = (ratio, goal) => [
  `${ratio.toFixed(2)}x`,
  goal === undefined ? '' : `${goal}x ${ratio <= goal ? 'met' : 'MISSED'}`,
];

/** The circumstances of the measurement. */
export const circumstances = (rounds) =>
  `Node ${process.version}, ${availableParallelism()} CPUs, load ${loadavg()[0].toFixed(1)}, ${rounds} rounds`;

/**
 * Starts a service in the foreground. Returns its address, process, team, and token (unless it uses a shared database); `ended`, which
 * resolves when it has ended; and `stop`, which ends it and waits for that. Throws if it does not start.
 */
export async function startService(env, data, flags = [], nodeFlags = []) {
  const child = spawn(process.execPath, [...nodeFlags, launcher, 'serve', '--data-dir', data, ...flags], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(child, 'close');
  const stop = async () => {
    child.kill('SIGTERM');
    await exit;
  };
  try {
    const { url, team, tokenFile } = await listening(child.stderr);
    child.stderr.resume();
    // Nodes that share a database have no token of the owner.
    const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, 'utf8')).trim();
    return { url, team, token, pid: child.pid, ended: exit, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The line that the service prints once it can be reached. */
async function listening(stderr) {
  let text = '';
  for await (const chunk of stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += chunk;
    const line = /Listening on (?<url>\S+); team (?<team>[^;]+); (?:token in (?<tokenFile>[^;]+);)?/.exec(text);
    if (line) return line.groups;
  }
  throw new Error(`The service did not start: ${text}`);
}

/** Milliseconds of CPU time that a process has used; undefined if that cannot be read. */
export function processCpu(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
    // Linux counts in ticks, 100 per second.
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return undefined;
  }
}

/** Current and peak memory of a process in MiB; undefined if that cannot be read. */
export function processMemory(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const fieldOf = (name) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1_024);
    return { now: fieldOf('VmRSS'), peak: fieldOf('VmHWM') };
  } catch {
    return undefined;
  }
}
