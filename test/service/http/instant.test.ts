/** Times in requests. */
import { expect, it } from 'vitest';
import { startApi } from '../helpers/service.ts';

it('a leap second, which no clock of this service shows, is refused in words', async () => {
  const api = await startApi();
  const since = '2016-12-31T23:59:60Z';
  expect(await api.call('listRuns', { query: { since } })).toMatchObject({
    status: 400,
    body: {
      error: 'invalid_request',
      message: 'since is not a time that this service supports.',
      details: [{ path: 'since', message: 'is not a supported time' }],
    },
  });
  expect((await api.call('listRuns', { query: { since: '2016-12-31T23:59:59Z' } })).status).toBe(200);
});
