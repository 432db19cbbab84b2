/** The agent of the example with the failing test, without a service. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { AcpClient } from '../support/acp-client.ts';
import { temporaryDirectory } from '../support/temporary.ts';

const example = path.join(import.meta.dirname, '../../examples/failing-test');

/** The agent with an open session in a copy of the repository, in which a text of a file can be replaced. */
async function opened(file = 'src/shipping.js', from = '', to = ''): Promise<AcpClient> {
  const folder = await temporaryDirectory();
  await cp(path.join(example, 'repository'), path.join(folder, 'workspace'), { recursive: true });
  const place = path.join(folder, 'workspace', file);
  await writeFile(place, (await readFile(place, 'utf8')).replace(from, to));
  const client = await AcpClient.start([process.execPath, path.join(example, 'agent.js')], {}, folder);
  client.decide = () => 'allow_once';
  await client.initialize();
  await client.open();
  return client;
}

const source = (client: AcpClient): Promise<string> => readFile(path.join(client.workspace, 'src/shipping.js'), 'utf8');

describe('the agent of the example', () => {
  it('repairs the repository, and then finds nothing to repair', async () => {
    const client = await opened();
    expect((await client.prompt('Repair it.')).stopReason).toBe('end_turn');
    expect(client.permissions).toMatchObject([{ toolCall: { rawInput: { path: 'src/shipping.js', line: 10, from: '>', to: '>=' } } }]);
    expect(client.text).toContain('All 4 tests pass. I replaced `>` with `>=` in line 10 of src/shipping.js.');
    await client.prompt('And now?');
    expect(client.text).toMatch(/All 4 tests pass\. There is nothing to repair\.$/);
    expect(client.permissions).toHaveLength(1);
  });

  it('changes nothing if the permission is rejected', async () => {
    const client = await opened();
    const before = await source(client);
    client.decide = () => 'reject_once';
    await client.prompt('Repair it.');
    expect(client.text).toMatch(/I changed nothing\.$/);
    expect(await source(client)).toBe(before);
  });

  it('says so if no change helps, or if the tests cannot be run', async () => {
    const hopeless = await opened('test/shipping.test.js', '490', '12345');
    await hopeless.prompt('Repair it.');
    expect(hopeless.text).toMatch(/None of \d+ changes makes the tests pass, so I changed nothing\.$/);
    expect(hopeless.permissions).toEqual([]);
    const damaged = await opened(
      'test/shipping.test.js',
      "import { shippingFor } from '../src/shipping.js';",
      "import { shippingFor } from '../src/absent.js';",
    );
    await damaged.prompt('Repair it.');
    expect(damaged.text).toContain('absent.js');
    expect(damaged.permissions).toEqual([]);
  });

  it('ends its turn when it is cancelled', async () => {
    const client = await opened();
    const turn = client.prompt('Repair it.');
    await client.cancel();
    expect((await turn).stopReason).toBe('cancelled');
    expect(client.permissions).toEqual([]);
  });
});
