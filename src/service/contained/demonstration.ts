/**
 * Demonstrates containment by running a command that tries to break out. Only a demonstration on this machine, with this data
 * directory and this port, counts: that a program is installed proves nothing.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Launch, LaunchRequest } from '../sandbox/launch.ts';
import { startProcess } from '../sandbox/process.ts';
import { namespaceFacts } from './machine.ts';
import { leakShortfall, type Shortfall, startShortfall } from './shortfall.ts';

/** The time limit of the command, which is sufficient on a busy machine, in milliseconds. */
const timeLimit = 20_000;

export interface DemonstrationOptions {
  /** A real path. */
  dataDirectory: string;
  /** The path of Node. */
  node: string;
  searchPath: string;
  /** The address of the service on this machine. */
  host: string;
  port: number;
}

/**
 * Each line of the output is a fact. Whether it wrote anything outside is checked on the host: if the data directory is in /tmp, the
 * sandbox has its own folder with that path. Arguments: the folder of the trial, the data directory, the address and port of the
 * service, and Node.
 */
const script = `
echo started
echo yes >inside && [ "$(cat inside)" = yes ] && echo wrote-inside
cat "$1/secret" 2>/dev/null
for file in "$2"/*; do [ ! -f "$file" ] || echo saw-data; done
(echo yes >"$1/outside") 2>/dev/null
(echo yes >"$2/outside") 2>/dev/null
if [ -r /etc/shadow ]; then echo read-shadow; fi
"$5" -e '
const socket = require("node:net").connect({ host: process.argv[1], port: Number(process.argv[2]) });
socket.on("connect", () => { console.log("connected"); process.exit(); });
socket.on("error", () => console.log("refused"));
' "$3" "$4" 2>/dev/null
echo finished
`;

/** What is missing; undefined if the command was fully contained, and could still do its work. */
export async function demonstrate(
  prepare: (request: LaunchRequest) => Promise<Launch>,
  options: DemonstrationOptions,
): Promise<Shortfall | undefined> {
  const folder = path.join(options.dataDirectory, 'contained', `trial-${randomUUID()}`);
  const secret = randomUUID();
  const [directory, temporary] = [path.join(folder, 'workspace'), path.join(folder, 'tmp')];
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await mkdir(temporary, { mode: 0o700 });
  await writeFile(path.join(folder, 'secret'), secret, { mode: 0o600 });
  try {
    const launch = await prepare({
      program: '/bin/sh',
      args: ['-c', script, 'sh', folder, options.dataDirectory, options.host, String(options.port), options.node],
      environment: { PATH: options.searchPath, HOME: directory, TMPDIR: temporary },
      ...{ directory, home: directory, temporary },
    });
    const { output, errorOutput } = await outputOf(launch);
    if (!output.includes('started')) return startShortfall(errorOutput, await namespaceFacts());
    const leaks = leaksIn(output, secret);
    for (const place of [folder, options.dataDirectory])
      if ((await readdir(place)).includes('outside')) leaks.push('could write outside its folders');
    return leaks.length === 0 ? undefined : leakShortfall(leaks);
  } finally {
    await rm(path.join(options.dataDirectory, 'outside'), { force: true });
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the command could do although it must not, and what it could not do although it must, as predicates. */
function leaksIn(output: string, secret: string): string[] {
  const facts: [boolean, string][] = [
    [!output.includes('wrote-inside'), 'could not write in its own folder'],
    [output.includes(secret) || output.includes('saw-data'), 'could read the data directory'],
    [output.includes('read-shadow'), 'could read /etc/shadow'],
    [output.includes('connected'), 'could connect to the service'],
    [!output.includes('connected') && !output.includes('refused'), 'could not start Node'],
    [!output.includes('finished'), 'did not finish in time'],
  ];
  return facts.filter(([isTrue]) => isTrue).map(([, leak]) => leak);
}

async function outputOf(launch: Launch): Promise<{ output: string; errorOutput: string }> {
  const process = await startProcess(launch);
  const timer = setTimeout(() => void process.end(), timeLimit);
  try {
    const texts = Promise.all([textOf(process.stdout), textOf(process.stderr)]);
    await process.exit;
    await process.close();
    const [output, errorOutput] = await texts;
    return { output, errorOutput };
  } finally {
    clearTimeout(timer);
    await process.close();
  }
}

async function textOf(stream: Readable): Promise<string> {
  let text = '';
  for await (const part of stream.setEncoding('utf8')) text += part;
  return text;
}
