/** The command line of the chaos suite. */
import { appendFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { programs } from '../support/postgres-programs.ts';
import { stopServer } from '../support/postgres-server.ts';
import { type DatabaseKind, nodeCounts } from './cluster.ts';
import { killAll } from './node-process.ts';
import { violationsOf } from './properties.ts';
import { type Finished, reportOf, violationLines } from './report.ts';
import { runScenario } from './scenario.ts';

const usage = `Usage: npm run chaos -- [--runs N] [--seed N] [--database sqlite|postgres] [--keep]

  --runs N      how many runs and cases to start (default: 300)
  --seed N      repeats the decisions of an earlier run (default: another one each time)
  --database D  only this database (default: both, one after the other)
  --together    both databases at the same time
  --keep        keep the folder with the logs and the ledger also if nothing is wrong
`;

/** Runs the suite. Returns the exit code: 0 if all properties hold, 1 otherwise, 2 for wrong arguments. */
export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === undefined) {
    process.stderr.write(usage);
    return 2;
  }
  if (options.databases.includes('postgres') && programs === undefined) {
    process.stderr.write('Postgres is not installed: install it, or pass --database sqlite.\n');
    return 2;
  }
  const { seed, items } = options;
  process.stdout.write(`seed ${seed}, ${items} runs\n`);
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-chaos-'));
  // The server of the database is another user.
  await chmod(folder, 0o711);
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)
    process.once(signal, () => {
      killAll();
      void Promise.allSettled(options.databases.map((kind) => stopServer(path.join(folder, kind, 'postgres'), 'immediate')))
        .then(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
        .finally(() => process.exit(code));
    });
  const finished: Finished[] = [];
  const failures: string[] = [];
  const run = async (kind: DatabaseKind): Promise<void> => {
    const part = path.join(folder, kind);
    await mkdir(part);
    await chmod(part, 0o711);
    const startedAt = performance.now();
    const note = (text: string): void =>
      void process.stdout.write(`${kind.padEnd(8)} ${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4)} s  ${text}\n`);
    const log = (name: string, text: string): void => appendFileSync(path.join(part, `${name}.log`), text);
    try {
      const result = await runScenario({ kind, seed, items, folder: part, note, log });
      finished.push({ kind, ...result, violations: violationsOf(result.observation) });
    } catch (error) {
      failures.push(`The run on ${kind} failed: ${error instanceof Error ? error.stack : error}`);
    }
  };
  try {
    if (options.together) await Promise.all(options.databases.map(run));
    else for (const kind of options.databases) await run(kind);
    return conclude(finished, failures, { seed, items, folder });
  } finally {
    killAll();
    if (failures.length === 0 && finished.every((one) => violationLines(one).length === 0) && !options.keep)
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function conclude(
  finished: readonly Finished[],
  failures: readonly string[],
  run: { seed: number; items: number; folder: string },
): number {
  const order = Object.keys(nodeCounts);
  const results = [...finished].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  if (results.length > 0) process.stdout.write(`\n${reportOf(results)}\n`);
  const problems = [...failures, ...results.flatMap(violationLines)];
  if (problems.length === 0) return 0;
  process.stdout.write(`\n${problems.join('\n')}\n\nRepeat with --seed ${run.seed} --runs ${run.items}; logs are in ${run.folder}\n`);
  return 1;
}

interface Options {
  seed: number;
  items: number;
  databases: DatabaseKind[];
  together: boolean;
  keep: boolean;
}

/** Undefined if the arguments are not valid. */
function readOptions(args: readonly string[]): Options | undefined {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        runs: { type: 'string', default: '300' },
        seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
        database: { type: 'string' },
        together: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
      },
    });
    const [items, seed] = [Number(values.runs), Number(values.seed)];
    const databases = (Object.keys(nodeCounts) as DatabaseKind[]).filter(
      (kind) => values.database === undefined || values.database === kind,
    );
    if (!Number.isInteger(items) || items < 4 || !Number.isInteger(seed) || databases.length === 0) return undefined;
    return { seed, items, databases, together: values.together, keep: values.keep };
  } catch {
    return undefined;
  }
}
