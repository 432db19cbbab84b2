/** A process whose addresses are limited (`ulimit -v`), as on machines that many people share: WebAssembly cannot be loaded as usual. */
import { expect } from 'vitest';
import { scriptedServer } from '../client/harness.ts';
import { json } from '../faults/raw-server.ts';
import { commandLine, Machine } from '../support/machine.ts';
import { itNeeding, needsLinux } from '../support/requirements.ts';

itNeeding(needsLinux, 'a process with few addresses says what to do about it', async () => {
  const machine = await Machine.create();
  const server = await scriptedServer(json(200, { agents: [], total: 0 }));
  Object.assign(machine.env, { AOPS_API_KEY: 'key', AOPS_TEAM_ID: 't', AOPS_BASE_URL: server.url });
  const limited = (command: string) => machine.run('sh', ['-c', `ulimit -v 2000000; ${command}`]);
  const unlimited = 'NODE_OPTIONS=--disable-wasm-trap-handler';

  // Newer versions of Node do without the addresses. The executable runs such programs with the Node that it contains.
  const [runtime] = commandLine();
  if ((await limited(`${runtime} -e "new WebAssembly.Memory({ initial: 1 })"`)).code === 0) {
    expect(await limited('aops agents list --json --jq .total')).toMatchObject({ code: 0, stdout: '0\n' });
    return;
  }
  const { code, stderr } = await limited('aops agents list');
  expect([code, stderr]).toEqual([8, expect.stringContaining('this process may not reserve the memory that WebAssembly needs.')]);
  expect(stderr).toContain(`hint: Set ${unlimited}, or raise the limit`);
  expect(server.requests).toEqual([]);
  expect(await limited('aops config list --json --jq .')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--jq: this process may not reserve the memory that WebAssembly needs.'),
  });
  expect(await limited(`${unlimited} aops agents list --json --jq .total`)).toMatchObject({ code: 0, stdout: '0\n' });
});
