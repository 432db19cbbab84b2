/** Several real processes that need a token at the same time, or find a lock that a killed process left behind. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { commandLine, Machine, type ProcessResult } from '../support/machine.ts';
import { afterTest } from '../support/temporary.ts';
import { TokenEndpoint } from '../support/token-endpoint.ts';

const service = 'https://agents.example.com';

let machine: Machine;
let tokens: TokenEndpoint;
beforeEach(async () => {
  machine = await Machine.create();
  const tokenEndpoint = await TokenEndpoint.start();
  afterTest(() => tokenEndpoint.close());
  tokens = tokenEndpoint;
  Object.assign(machine.env, tokens.env, { AOPS_BASE_URL: service });
});

const folder = (): string => path.join(machine.folder, 'cache', 'tokens');
/** `auth token` only needs the token endpoint. */
const ask = (): Promise<ProcessResult> => machine.aops('auth', 'token');
/** Name of the lock of the token that `ask` needs. */
const lockFile = (): string => {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const name = sha256(JSON.stringify([service, tokens.url, tokens.clientId, null, sha256(tokens.clientSecret)]));
  return path.join(folder(), `${name}.json.lock`);
};

function expectSuccess(results: ProcessResult[], stdout: string): void {
  for (const result of results) expect(result).toEqual({ code: 0, stdout, stderr: '' });
}

describe('processes that need a token', () => {
  it('fetch one token for all', async () => {
    tokens.delay = 300;
    expectSuccess(await Promise.all(Array.from({ length: 8 }, ask)), 'at_1_abcdefghijkl\n');
    expect(tokens.forms).toHaveLength(1);
    expect(await readdir(folder())).toEqual([path.basename(lockFile(), '.lock')]);
  });

  it('break the lock of a killed process, and still fetch one token for all', async () => {
    await mkdir(folder(), { recursive: true, mode: 0o700 });
    await writeFile(lockFile(), 'dead', { mode: 0o600 });
    await utimes(lockFile(), new Date(0), new Date(0));
    tokens.delay = 200;
    expectSuccess(await Promise.all(Array.from({ length: 4 }, ask)), 'at_1_abcdefghijkl\n');
    expect(tokens.forms).toHaveLength(1);
    expect(await readdir(folder())).toEqual([path.basename(lockFile(), '.lock')]);
  });

  it('continue when the process that fetched was killed', async () => {
    tokens.delay = 60_000;
    const { child, finished } = machine.start(...commandLine('auth', 'token'));
    await eventually('a token is asked for', () => tokens.forms.length > 0);
    child.kill('SIGKILL');
    await finished;
    // As if the time had passed after which no process can hold it.
    await utimes(lockFile(), new Date(0), new Date(0));
    tokens.delay = 0;
    expectSuccess([await ask()], 'at_2_abcdefghijkl\n');
  });

  it('all fail when it is refused, without revealing the secret', async () => {
    machine.env.AOPS_CLIENT_SECRET = 'wrong-secret-of-nobody';
    for (const { code, stdout, stderr } of await Promise.all([ask(), ask()])) {
      expect([code, stdout]).toEqual([4, '']);
      expect(stderr).toContain('invalid_client');
      expect(stderr).not.toContain('wrong-secret');
    }
    expect(await readdir(folder())).toEqual([]);
  });
});
