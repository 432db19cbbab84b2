#!/usr/bin/env node
/**
 * Transfers with the local service, compared with programs that do the least for the same result, alternating in one run: many small
 * files with tar through a connection on the same machine, and one large file with curl, which gets its address in advance. aops checks
 * names, verifies each file, syncs it to the disk, and renames it. Both start as processes. Goals are for ratios of medians.
 * When tar or curl ends, the data is only in memory. Their time therefore includes a sync, as the time of aops does; the time without
 * the sync is printed too. The service has its usual rate limit.
 *
 *   node bench/transfers.js [--rounds N] [--files N] [--mebibytes N] [--json]        (npm run bench builds first)
 *
 * Needs tar and curl, and as much free disk as the large file has. Exits with 0 whether the goals are met or not; otherwise only if a
 * measurement failed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { printResult } from './reports.js';
import { circumstances, cleanEnvironment, launcher, median, runMeasured, startService } from './support.js';

const filesInFolder = 100;
const sizeOfFile = 2_048;

/** Provides a temporary service while `work` runs. */
async function withService(work) {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-transfers-'));
  const data = path.join(folder, 'data');
  const env = cleanEnvironment(folder);
  try {
    const { url, team, token, stop } = await startService(env, data);
    try {
      const signedIn = { ...env, AOPS_BASE_URL: url, AOPS_API_KEY: token, AOPS_TEAM_ID: team };
      return await work({ folder, data, env: signedIn, url, token });
    } finally {
      await stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A run that has ended, and the folder in which its files are on disk. */
async function prepareRun({ folder, data, env }) {
  const aops = async (...args) => (await runMeasured(process.execPath, [launcher, ...args], env, { keep: true })).stdout;
  const procedure = path.join(folder, 'procedure.yaml');
  await writeFile(procedure, 'version: 1\nsteps:\n  - write: { path: first.txt, content: "x" }\n');
  await aops('agents', 'create', 'Bench', '--procedure', procedure);
  const { id, sandbox_id } = JSON.parse(await aops('runs', 'start', '--agent', 'Bench', '--json'));
  await aops('runs', 'wait', id);
  return { id, workspace: path.join(data, 'sandboxes', sandbox_id, 'workspace') };
}

/** Copies a folder with two processes of tar, which are connected directly. */
async function tarThroughNetwork(source, out) {
  await mkdir(out, { recursive: true });
  const server = createServer({ pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connection = once(server, 'connection');
  const sending = connect(server.address().port, '127.0.0.1');
  await once(sending, 'connect');
  const [receiving] = await connection;
  const processes = [
    spawn('tar', ['c', '-C', path.dirname(source), path.basename(source)], { stdio: ['ignore', sending, 'inherit'] }),
    spawn('tar', ['x', '-C', out], { stdio: [receiving, 'ignore', 'inherit'] }),
  ];
  const ends = processes.map((child) => once(child, 'exit'));
  void ends[0].then(() => sending.destroy());
  const codes = await Promise.all(ends);
  receiving.destroy();
  server.close();
  if (codes.some(([code]) => code !== 0)) throw new Error('tar failed.');
}

async function requireFiles(folder, count) {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  if (entries.length !== count) throw new Error(`${entries.length} files arrived instead of ${count}.`);
}

/** Pushes and pulls many small files. */
async function prepareTrees({ data, env }, { id, workspace }, count) {
  const tree = path.join(workspace, 'tree');
  for (let index = 0; index < count; index += 1) {
    const name = path.join(tree, `f${Math.floor(index / filesInFolder)}`, `${index}.txt`);
    await mkdir(path.dirname(name), { recursive: true });
    await writeFile(name, `${index} `.padEnd(sizeOfFile, 'text of a file, '));
  }
  const shared = {
    files: count,
    goal: 2,
    peer: 'tar',
    runPeer: (out) => tarThroughNetwork(tree, out),
    afterPeer: (out) => runMeasured('sync', ['-f', out], process.env),
    checkPeer: (out) => requireFiles(out, count),
  };
  const sandboxes = new Map();
  return [
    {
      ...shared,
      name: `push ${count} files of ${sizeOfFile / 1_024} KiB`,
      aops: async (out) => {
        const result = await runMeasured(process.execPath, [launcher, 'sandbox', 'create', '--json'], env, { keep: true });
        const { sandbox_id } = JSON.parse(result.stdout);
        sandboxes.set(out, sandbox_id);
        return ['sandbox', 'push', sandbox_id, tree];
      },
      check: (out) => requireFiles(path.join(data, 'sandboxes', sandboxes.get(out), 'workspace'), count),
    },
    {
      ...shared,
      name: `pull ${count} files of ${sizeOfFile / 1_024} KiB`,
      aops: (out) => ['sandbox', 'pull', id, 'tree', '--to', out],
      check: (out) => requireFiles(out, count),
    },
  ];
}

/** Pulls one large file. It is sparse, so it takes no disk space and no time to read. */
async function prepareLarge({ env, url, token }, { id, workspace }, mebibytes) {
  const file = await open(path.join(workspace, 'large.bin'), 'w');
  await file.truncate(mebibytes * 1_048_576);
  await file.close();
  const answer = await fetch(`${url}/v2/runs/${id}/sandbox/files/content?path=large.bin`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data } = await answer.json();
  const address = new URL(data.download_url, url).href;
  const check = async (out) => {
    const file = path.join(out, 'large.bin');
    const { size } = await stat(file);
    await rm(file);
    if (size !== mebibytes * 1_048_576) throw new Error(`${size} bytes arrived.`);
  };
  return {
    name: `pull one file of ${mebibytes} MiB`,
    files: 1,
    goal: 1.1,
    peer: 'curl',
    runPeer: (out) =>
      runMeasured('curl', ['--silent', '--fail', '--create-dirs', '--output-dir', out, '--output', 'large.bin', address], env),
    afterPeer: async (out) => {
      const fileHandle = await open(path.join(out, 'large.bin'), 'r+');
      await fileHandle.sync();
      await fileHandle.close();
    },
    checkPeer: check,
    aops: (out) => ['sandbox', 'pull', id, 'large.bin', '--to', out],
    check,
  };
}

/** Milliseconds that work takes. */
async function timed(work) {
  const startedAt = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - startedAt) / 1e6;
}

/** Alternates between both; the first round is a warm-up. */
async function measure({ folder, env }, test, rounds) {
  const times = { peer: [], unsynced: [], aops: [] };
  let peakKilobytes = 0;
  for (let round = -1; round < rounds; round += 1) {
    // The order alternates, so neither is always first.
    for (const tool of round % 2 === 0 ? ['peer', 'aops'] : ['aops', 'peer']) {
      // Another folder each time, all removed at the end: file systems create files slowly where many were just deleted.
      const out = path.join(folder, 'out', `${test.name.replaceAll(' ', '-')}-${tool}-${round}`);
      if (tool === 'peer') {
        const transfer = await timed(() => test.runPeer(out));
        const syncing = await timed(() => test.afterPeer(out));
        await test.checkPeer(out);
        if (round >= 0) {
          times.peer.push(transfer + syncing);
          times.unsynced.push(transfer);
        }
      } else {
        const args = await test.aops(out);
        const result = await runMeasured(process.execPath, [launcher, ...args], env);
        await test.check(out);
        peakKilobytes = Math.max(peakKilobytes, result.peakKilobytes);
        if (round >= 0) times.aops.push(result.milliseconds);
      }
      // Pending writes must not slow down the next measurement.
      await runMeasured('sync', [], process.env);
    }
  }
  const ratio = median(times.aops) / median(times.peer);
  return {
    name: test.name,
    peer: test.peer,
    peer_ms: median(times.peer),
    peer_unsynced_ms: median(times.unsynced),
    aops_ms: median(times.aops),
    ratio,
    goal: test.goal,
    met: ratio <= test.goal,
    ...(peakKilobytes === 0 ? {} : { peak_mib: Math.round(peakKilobytes / 1_024) }),
  };
}

const options = {
  rounds: { type: 'string', default: '5' },
  files: { type: 'string', default: '5000' },
  mebibytes: { type: 'string', default: '1024' },
  json: { type: 'boolean', default: false },
};
const { values } = parseArgs({ options });
const [rounds, files, mebibytes] = ['rounds', 'files', 'mebibytes'].map((name) => {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is a whole number from 1 on.`);
  return value;
});
const results = await withService(async (service) => {
  const endedRun = await prepareRun(service);
  const measured = [];
  for (const test of await prepareTrees(service, endedRun, files)) measured.push(await measure(service, test, rounds));
  return [...measured, await measure(service, await prepareLarge(service, endedRun, mebibytes), rounds)];
});
printResult('transfers', { rounds, results, circumstances: circumstances(rounds) }, values.json);
