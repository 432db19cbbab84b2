/** Files of runs on several nodes that share a bucket. */
import { Buffer } from 'node:buffer';
import path from 'node:path';
import { expect, it } from 'vitest';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { bucket, credentials, S3Server } from '../../../support/s3-server.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock, within } from '../../helpers/clock.ts';
import type { Behaviour } from '../../helpers/runtime.ts';
import { startApi } from '../../helpers/service.ts';

const look: Behaviour = async (host) => {
  const image = { name: 'page.png', mimeType: 'image/png', bytes: Buffer.from('a picture') };
  await host.emit([{ kind: 'screenshot', id: 'p', toolName: 'browser', action: 'open', startedAt: new Date(0), image }]);
  return { status: 'completed' };
};

describeNeeding(needsPostgres, 'nodes with a bucket', () => {
  it('execute runs in spite of its failures, and show the screenshots of each other', async () => {
    const server = await S3Server.start();
    const clock = new ManualClock();
    const url = await newDatabase();
    const secretKeyFile = path.join(await temporaryDirectory(), 'secrets.key');
    const startNode = () =>
      startApi({
        ...{ clock, behaviours: { look }, database: { url, maxConnections: 3, secretKeyFile } },
        files: { kind: 's3', bucket, prefix: '', endpoint: server.endpoint, region: 'eu-central-1', credentials },
      });
    const a = await startNode();
    server.fail(/^PUT/, { status: 403, code: 'AccessDenied' });
    const run = await a.run('look');
    await within(60_000, clock, async () => (await a.ok('getRun', { params: { run_id: run.id } })).run.status === 'completed');
    await a.service.close();
    const b = await startNode();
    const { data } = await b.ok('getRunScreenshotTimeline', { params: { run_id: run.id } });
    const file = data.toolExecutions[0]?.afterScreenshot?.signedUrl ?? '';
    expect(await b.send('GET', file, { anonymous: true })).toMatchObject({ status: 200, text: 'a picture' });
    expect([...server.objects.keys()]).toEqual([expect.stringContaining(`${run.id}/`)]);
    server.fail(/^GET/, { status: 403, code: 'AccessDenied' });
    expect(await b.send('GET', file, { anonymous: true })).toMatchObject({ status: 503, body: { error: 'files_unavailable' } });
    server.objects.clear();
    expect(await b.send('GET', file, { anonymous: true })).toMatchObject({ status: 404, body: { error: 'run_file_not_found' } });
  });
});
