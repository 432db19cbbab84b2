import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { currentFolder, type Host, jobControl } from '../../../src/cli/program/host.ts';

const host = (cwd: () => string, env: Host['env'] = {}): Host => ({ cwd, env, execPath: process.execPath }) as unknown as Host;
const removed = (): never => {
  throw Object.assign(new Error('ENOENT: no such file or directory, uv_cwd'), { code: 'ENOENT' });
};

it.each<[string, Host, string]>([
  ['is that of the process', host(() => '/work', { PWD: '/else' }), '/work'],
  ['is its former path if it was removed', host(removed, { PWD: '/work/removed' }), '/work/removed'],
  ['is the root if its former path is unknown', host(removed), '/'],
  ['is never relative', host(removed, { PWD: 'removed' }), '/'],
])('the current directory %s', (_, where, expected) => {
  expect(currentFolder(where)).toBe(expected);
});

it('handles no signals during work that can be interrupted, and the same ones as before afterwards', async () => {
  const emitter = new EventEmitter() as EventEmitter & Host;
  const received: string[] = [];
  emitter.on('SIGINT', () => received.push('SIGINT'));
  emitter.once('SIGTERM', () => received.push('SIGTERM'));
  const { interruptibly } = jobControl(emitter);
  const handledDuringWork = (): string[] => ['SIGINT', 'SIGTERM'].filter((signal) => emitter.listenerCount(signal) > 0);
  expect(await interruptibly(async () => handledDuringWork())).toEqual([]);
  await expect(interruptibly(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  for (let time = 0; time < 2; time += 1) for (const signal of ['SIGINT', 'SIGTERM']) emitter.emit(signal);
  expect(received).toEqual(['SIGINT', 'SIGTERM', 'SIGINT']);
});
