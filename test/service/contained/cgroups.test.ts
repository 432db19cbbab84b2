import { expect, it } from 'vitest';
import { parseGroups } from '../../../src/service/contained/cgroups.ts';

it('reads the groups of a process in both versions', () => {
  expect(parseGroups('0::/user.slice/user-1000.slice/session-2.scope\n')).toEqual(
    new Map([['', '/user.slice/user-1000.slice/session-2.scope']]),
  );
  const hybrid = '9:name=systemd:/\n8:pids:/a\n4:memory:/b/c:d\n1:cpu,cpuacct:/\n0::/\n';
  expect(Object.fromEntries(parseGroups(hybrid))).toEqual({
    'name=systemd': '/',
    pids: '/a',
    memory: '/b/c:d',
    cpu: '/',
    cpuacct: '/',
    '': '/',
  });
  expect(parseGroups('')).toEqual(new Map());
});
