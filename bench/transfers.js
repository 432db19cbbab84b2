#!/usr/bin/env node
/**
 * Pulling files from the local service, compared with curl, alternating in one run. curl gets the addresses in
 * advance and reuses one connection (`curl --config`); aops lists the files, checks their names, requests and verifies
 * each one, syncs it to the disk, and renames it. Both start as processes. Goals are for ratios of medians.
 * When curl ends, the data is only in memory. For the large file its time therefore includes a sync, as the time of aops
 * does; its time without the sync is printed too.
 *
 *   node bench/transfers.js [--rounds N] [--files N] [--mebibytes N] [--json]        (npm run bench builds first)
 *
 * Needs curl, and as much free disk as the large file has. Exits with 0 whether the goals are met or not; otherwise only
 * if a measurement failed.
 */
import { mkdir, mkdtemp, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { printResult } from './reports.js';
import { circumstances, cleanEnvironment, launcher, median, runMeasured, startService } from './support.js';

const filesInFolder = 100;
const sizeOfFile = 2_048;

/** Provides a temporary service without a rate limit while `work` runs. */
async function withService(work) {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-transfers-'));
  const data = path.join(folder, 'data');
  const env = cleanEnvironment(folder);
  try {
    const { url, team, token, stop } = await startService(env, data, ['--rate-limit', '1000000']);
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

const quote = (text) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** Pulls many small files. curl gets the same responses from the same operation, which contain the content of each file. */
async function prepareTree({ folder, url, token }, { id, workspace }, count) {
  const transfers = [];
  for (let index = 0; index < count; index += 1) {
    const name = `tree/f${Math.floor(index / filesInFolder)}/${index}.txt`;
    await mkdir(path.join(workspace, path.dirname(name)), { recursive: true });
    await writeFile(path.join(workspace, name), `${index} `.padEnd(sizeOfFile, 'text of a file, '));
    const address = `${url}/v2/runs/${id}/sandbox/files/content?path=${encodeURIComponent(`/workspace/${name}`)}`;
    transfers.push(`url = ${quote(address)}\noutput = ${quote(name)}\n`);
  }
  const list = path.join(folder, 'tree.curl');
  await writeFile(list, `silent\nfail\ncreate-dirs\nheader = ${quote(`Authorization: Bearer ${token}`)}\n${transfers.join('')}`, {
    mode: 0o600,
  });
  return {
    name: `${count} files of ${sizeOfFile / 1_024} KiB`,
    files: count,
    goal: 1.3,
    curl: (out) => ['--output-dir', out, '--config', list],
    aops: (out) => ['sandbox', 'pull', id, 'tree', '--to', out],
    check: async (out) => {
      const entries = (await readdir(out, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
      if (entries.length !== count) throw new Error(`${entries.length} files arrived instead of ${count}.`);
    },
  };
}

/** Pulls one large file. It is sparse, so it takes no disk space and no time to read. */
async function prepareLarge({ url, token }, { id, workspace }, mebibytes) {
  const file = await open(path.join(workspace, 'large.bin'), 'w');
  await file.truncate(mebibytes * 1_048_576);
  await file.close();
  const answer = await fetch(`${url}/v2/runs/${id}/sandbox/files/content?path=large.bin`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data } = await answer.json();
  return {
    name: `one file of ${mebibytes} MiB`,
    files: 1,
    goal: 1.1,
    curl: (out) => [
      '--silent',
      '--fail',
      '--create-dirs',
      '--output-dir',
      out,
      '--output',
      'large.bin',
      new URL(data.download_url, url).href,
    ],
    aops: (out) => ['sandbox', 'pull', id, 'large.bin', '--to', out],
    afterCurl: async (out) => {
      const fileHandle = await open(path.join(out, 'large.bin'), 'r+');
      await fileHandle.sync();
      await fileHandle.close();
    },
    check: async (out) => {
      const file = path.join(out, 'large.bin');
      const { size } = await stat(file);
      await rm(file);
      if (size !== mebibytes * 1_048_576) throw new Error(`${size} bytes arrived.`);
    },
  };
}

/** Alternates between both; the first round is a warm-up. */
async function measure({ folder, env }, test, rounds) {
  const times = { curl: [], unsynced: [], aops: [] };
  let peakKilobytes = 0;
  for (let round = -1; round < rounds; round += 1) {
    // The order alternates, so neither is always first.
    for (const tool of round % 2 === 0 ? ['curl', 'aops'] : ['aops', 'curl']) {
      // Another folder each time, all removed at the end: file systems create files slowly where many were just deleted.
      const out = path.join(folder, 'out', `${test.files}-${tool}-${round}`);
      const args = test[tool](out);
      const result = tool === 'curl' ? await runMeasured('curl', args, env) : await runMeasured(process.execPath, [launcher, ...args], env);
      const endedAt = process.hrtime.bigint();
      if (tool === 'curl') await test.afterCurl?.(out);
      const syncing = Number(process.hrtime.bigint() - endedAt) / 1e6;
      await test.check(out);
      // Pending writes must not slow down the next measurement.
      await runMeasured('sync', [], process.env);
      if (round >= 0) times[tool].push(result.milliseconds + syncing);
      if (round >= 0 && tool === 'curl') times.unsynced.push(result.milliseconds);
      if (tool === 'aops') peakKilobytes = Math.max(peakKilobytes, result.peakKilobytes);
    }
  }
  const ratio = median(times.aops) / median(times.curl);
  const peak = peakKilobytes === 0 ? {} : { peak_mib: Math.round(peakKilobytes / 1_024) };
  const unsyncedFigures = test.afterCurl ? { curl_unsynced_ms: median(times.unsynced) } : {};
  return {
    name: test.name,
    curl_ms: median(times.curl),
    ...unsyncedFigures,
    aops_ms: median(times.aops),
    ratio,
    goal: test.goal,
    met: ratio <= test.goal,
    ...peak,
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
  const smallResults = [await measure(service, await prepareTree(service, endedRun, files), rounds)];
  return [...smallResults, await measure(service, await prepareLarge(service, endedRun, mebibytes), rounds)];
});
printResult('transfers', { rounds, results, circumstances: circumstances(rounds) }, values.json);
