/** What is acknowledged is on the disk, what is refused is not there, and a key never executes twice or stays locked. */
import { describe, expect, it } from 'vitest';
import { crashImage } from '../helpers/crash.ts';
import { manyTurns, serviceCommits, syncsFrom } from '../helpers/disk.ts';
import { Gate } from '../helpers/runtime.ts';
import { type Answer, type Api, startApi } from '../helpers/service.ts';

const create = (api: Api, name: string, key?: string): Promise<Answer> =>
  api.call('createAgent', { body: { name }, ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }) });

const agentNames = async (api: Api): Promise<string[]> => (await api.ok('listAgents')).agents.map(({ name }) => name).sort();
const failure = ({ status, body }: Answer) => [status, (body as { error?: string }).error];
const isReplayed = ({ headers }: Answer): boolean => headers['idempotency-replayed'] === 'true';

describe('a disk that takes its time', () => {
  it.each([undefined, 'k1'])('holds back the answer to a change, and the change from readers (key: %s)', async (key) => {
    const api = await startApi();
    const resumeGate = new Gate();
    const { arrival } = await syncsFrom({ ...api, text: 'Slow agent' }, () => resumeGate.opened);
    const answerOrder: string[] = [];
    const note = (label: string) => () => void answerOrder.push(label);
    const creation = create(api, 'Slow agent', key);
    void creation.then(note('created'));
    await arrival;
    const listing = agentNames(api);
    void listing.then(note('read'));
    await manyTurns();
    expect(answerOrder).toEqual([]);
    resumeGate.open();
    expect([(await creation).status, await listing]).toEqual([201, ['Slow agent']]);
  });
});

describe('a full disk', () => {
  it('fails keyed and other changes, leaves nothing of them behind, and locks no key', async () => {
    const commits = serviceCommits();
    const api = await startApi();
    await create(api, 'Before');
    commits.failure = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    const refusals = await Promise.all([create(api, 'A', 'k1'), create(api, 'B', 'k2'), create(api, 'C')]);
    expect(refusals.map(failure)).toEqual(refusals.map(() => [503, 'disk_full']));
    expect(failure(await create(api, 'A', 'k1'))).toEqual([503, 'disk_full']);
    expect(await agentNames(api)).toEqual(['Before']);
    commits.failure = undefined;
    expect(await agentNames(api)).toEqual(['Before']);
    const retryResult = await Promise.all([create(api, 'A', 'k1'), create(api, 'B', 'k2')]);
    expect(retryResult.map((answer) => [answer.status, isReplayed(answer)])).toEqual([
      [201, false],
      [201, false],
    ]);
    expect(isReplayed(await create(api, 'A', 'k1'))).toBe(true);
    expect(await agentNames(api)).toEqual(['A', 'B', 'Before']);
  });
});

describe('a disk that fails to sync', () => {
  it('fails every request until a restart, which finds a change whole or not at all', async () => {
    const api = await startApi();
    await create(api, 'Before', 'before');
    const lostImage = await crashImage(api);
    const failToSync = () => Promise.reject(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }));
    const { restore } = await syncsFrom({ ...api, text: 'Unsynced' }, failToSync);
    const refusals = await Promise.all([create(api, 'Unsynced', 'k1'), create(api, 'Unsynced too')]);
    expect(refusals.map(failure)).toEqual(refusals.map(() => [503, 'disk_failed']));
    restore();
    // Nobody knows what the disk holds, so the key is neither in progress nor answered.
    for (const repeat of [create(api, 'Unsynced', 'k1'), create(api, 'Before', 'before'), api.call('listAgents')])
      expect(failure((await repeat) as Answer)).toEqual([503, 'disk_failed']);
    const storedImage = await crashImage(api);
    for (const dataDirectory of [lostImage, storedImage]) {
      const restartedApi = await startApi({ dataDirectory });
      const isThere = (await agentNames(restartedApi)).includes('Unsynced');
      const answer = await create(restartedApi, 'Unsynced', 'k1');
      expect([answer.status, isReplayed(answer)]).toEqual([201, isThere]);
      expect(isReplayed(await create(restartedApi, 'Before', 'before'))).toBe(true);
      expect((await agentNames(restartedApi)).filter((name) => name !== 'Unsynced too')).toEqual(['Before', 'Unsynced']);
    }
  });
});

describe('a service that is killed while it handles a key', () => {
  it('executes the key immediately after the restart when nothing was committed', async () => {
    const api = await startApi();
    // The token is known from here on, so that no request waits for the disk to be let in.
    await create(api, 'Before');
    const resumeGate = new Gate();
    const { arrival } = await syncsFrom({ ...api, text: 'In the way' }, () => resumeGate.opened);
    const blockingRequest = create(api, 'In the way');
    await arrival;
    // One of them waits for the disk.
    const attempts = [create(api, 'A', 'k1'), create(api, 'A', 'k1')];
    expect(failure(await Promise.race(attempts))).toEqual([409, 'idempotency_in_progress']);
    const image = await crashImage(api);
    resumeGate.open();
    await Promise.all([blockingRequest, ...attempts]);
    const restartedApi = await startApi({ dataDirectory: image });
    const answer = await create(restartedApi, 'A', 'k1');
    expect([answer.status, isReplayed(answer)]).toEqual([201, false]);
    expect(await agentNames(restartedApi)).toEqual(['A', 'Before', 'In the way']);
  });

  it('has the answer after the restart when the change was committed but not acknowledged', async () => {
    const api = await startApi();
    const resumeGate = new Gate();
    const { arrival } = await syncsFrom({ ...api, text: 'Unacknowledged' }, () => resumeGate.opened);
    const inProgress = create(api, 'Unacknowledged', 'k1');
    await arrival;
    const image = await crashImage(api);
    resumeGate.open();
    const { text } = await inProgress;
    const restartedApi = await startApi({ dataDirectory: image });
    const answer = await create(restartedApi, 'Unacknowledged', 'k1');
    expect([answer.text, isReplayed(answer)]).toEqual([text, true]);
    expect(await agentNames(restartedApi)).toEqual(['Unacknowledged']);
  });
});
