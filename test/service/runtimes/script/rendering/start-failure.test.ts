import { expect, it } from 'vitest';
import { hostTrouble } from '../../../../../src/service/host-trouble.ts';
import { startFailure } from '../../../../../src/service/runtimes/script/rendering/start-failure.ts';

it.each([
  ['Initialization of the thread failed: EMFILE', 'too_many_open_files'],
  ['Cannot read package config /srv/package.json: too many open files.', 'too_many_open_files'],
  ['Cannot read package config /srv/package.json: i/o error', 'disk_failed'],
  ['Cannot read package config /srv/package.json: permission denied.', undefined],
  ['Worker terminated due to reaching memory limit: JS heap out of memory', undefined],
  ['EMFILE', undefined],
])('a thread that could not be started because of "%s" is a problem of the host: %s', (message, trouble) => {
  const failure = startFailure(new Error(message));
  expect(failure.message).toBe(message);
  expect(hostTrouble(failure)).toBe(trouble);
});
