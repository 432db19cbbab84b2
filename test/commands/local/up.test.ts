/** A start of the local service while another process starts one there. Other starts are tested with real processes (local.test.ts). */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { ForeignService } from '../../support/foreign-service.ts';
import { runCli } from '../../support/run-cli.ts';
import { folderEnv } from '../../support/service.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const instance_id = '0190b3f0-0000-7000-8000-000000000001';
/** Refuses to serve, as it does if another process owns the data directory. */
const refuse = `process.stderr.write(JSON.stringify({ error: { code: 'data_directory_in_use', message: 'It is in use.', exit: 6 } }) + '\\n');
process.exit(6);`;

/** Runs `local up` next to a service that answers, and that has written its state to the data directory only. */
async function upNextTo(stateFile: string | undefined, onHealthCheck: (writeLocalState: () => void) => void) {
  const folder = await temporaryFolder();
  const data = path.join(folder, 'data');
  const data_dir = path.join(data, 'local');
  mkdirSync(data_dir, { recursive: true });
  const service = await ForeignService.start({
    'GET /healthz': () => {
      onHealthCheck(() => writeFileSync(path.join(data, 'local.json'), JSON.stringify(state)));
      return { status: 'ok', version: '1.0.0', instance_id };
    },
  });
  const state = {
    pid: process.pid,
    url: service.url,
    data_dir,
    team_id: instance_id,
    version: '1.0.0',
    instance_id,
    exec: 'off',
    ephemeral: false,
  };
  const state_file = stateFile === undefined ? {} : { state_file: path.join(data, stateFile) };
  writeFileSync(path.join(data_dir, 'service.json'), JSON.stringify({ ...state, ...state_file }));
  writeFileSync(path.join(data_dir, 'token'), 'token\n');
  const script = path.join(folder, 'refuse.cjs');
  writeFileSync(script, refuse);
  const up = await runCli(['local', 'up', '--json'], { env: folderEnv(folder), program: [process.execPath, script] });
  return { up, url: service.url, checks: service.requests.length };
}

describe('aops local up', () => {
  it('waits for a service that has started at the same time, and is about to report it', async () => {
    let checks = 0;
    const { up, url } = await upNextTo('local.json', (writeLocalState) => {
      checks++;
      if (checks === 3) writeLocalState();
    });
    expect(up).toMatchObject({ code: 0 });
    expect(up.json()).toMatchObject({ url, profile: 'local' });
  });

  it.each([
    ['`aops serve` started', undefined],
    ['another user has', 'other/local.json'],
  ])('does not wait for a service that %s', async (_, stateFile) => {
    const { up, checks } = await upNextTo(stateFile, () => undefined);
    expect(up).toMatchObject({ code: 6, stdout: '' });
    expect(JSON.parse(up.stderr)).toMatchObject({ error: { code: 'data_directory_in_use' } });
    expect(checks).toBe(1);
  });
});
