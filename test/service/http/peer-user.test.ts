/** The owner of a connection, in the words of the kernel. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import process from 'node:process';
import { describe, expect, it, vi } from 'vitest';
import { isOfSameUser, ownersOf } from '../../../src/service/http/peer-user.ts';
import { itNeeding, needsLinux } from '../../support/requirements.ts';
import { afterTest } from '../../support/temporary.ts';

const heading = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const line = (number: number, local: string, remote: string, state: string, user: number) =>
  `${String(number).padStart(4)}: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${String(user).padStart(5)}        0 4711 1 0000 20 4 30 10 -1\n`;

describe('the owners of a connection', () => {
  const table =
    heading +
    // The service listens, has accepted a connection, and an earlier one is being closed.
    line(0, '0100007F:1F90', '00000000:0000', '0A', 1000) +
    line(1, '0100007F:1F90', '0100007F:C350', '01', 1000) +
    line(2, '0100007F:C350', '0100007F:1F90', '01', 65534) +
    line(3, '0100007F:C351', '0100007F:1F90', '06', 0) +
    line(12345, '0100007F:C352', '0100007F:1F91', '01', 33);

  it.each([
    [50_000, 8_080, [65_534]],
    [8_080, 50_000, [1_000]],
    [50_001, 8_080, []],
    [50_002, 8_080, []],
    [50_002, 8_081, [33]],
  ])('are those of the socket at the other end: from %i to %i', (from, to, owners) => {
    expect(ownersOf(table, from, to)).toEqual(owners);
  });

  it('include all addresses, because ports repeat at each', () => {
    const ipv6 = line(0, '00000000000000000000000001000000:C350', '00000000000000000000000001000000:1F90', '01', 7);
    expect(ownersOf(table + ipv6, 50_000, 8_080)).toEqual([65_534, 7]);
  });

  it('are unknown for an empty table', () => {
    expect(ownersOf('', 50_000, 8_080)).toEqual([]);
  });
});

/** A connection to this process. */
async function connected(): Promise<{ client: Socket; socket: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterTest(() => server.close());
  const arrival = once(server, 'connection') as Promise<[Socket]>;
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  return { client, socket: (await arrival)[0] };
}

itNeeding(needsLinux, 'the process at the other end of a connection can be one of another user', async () => {
  const { client, socket } = await connected();
  vi.spyOn(process, 'geteuid').mockReturnValueOnce((process.geteuid?.() as number) + 1);
  expect(await isOfSameUser(socket)).toBe(false);
  client.destroy();
});

it('the process at the other end of a connection is one of this user, until the connection has ended', async () => {
  const { client, socket } = await connected();
  const { localPort, remotePort } = socket;
  expect(await isOfSameUser(socket)).toBe(true);
  for (const ports of [{ localPort }, { remotePort }, {}]) expect(await isOfSameUser(ports as Socket)).toBe(process.platform !== 'linux');
  client.destroy();
});
