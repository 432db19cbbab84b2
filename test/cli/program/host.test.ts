import { expect, it } from 'vitest';
import { currentFolder, type Host } from '../../../src/cli/program/host.ts';

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
