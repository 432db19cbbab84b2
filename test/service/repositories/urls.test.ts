/** Runs that work on a repository at a URL, which the service fetches under its rules for outgoing connections. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunChanges, RunRepository } from '../../../src/interface/types.ts';
import { type GitServer, startGitServer } from '../../support/git-server.ts';
import { newRepository, type TestRepository } from '../../support/repository.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { temporaryFolder } from '../../support/temporary.ts';

let service: TestService;
let server: GitServer;
let source: TestRepository;
let first: string;
let second: string;
beforeAll(async () => {
  const root = await temporaryFolder();
  source = await newRepository(path.join(root, 'shop'), { 'a.txt': 'first' });
  first = (await source.git('rev-parse', 'HEAD')).trim();
  await source.git('tag', '--annotate', '--message', 'v1', 'v1');
  second = await source.commit('Second', { 'a.txt': 'second' });
  await source.git('branch', 'next/one', first);
  await newRepository(path.join(root, 'empty'));
  server = await startGitServer(root, {
    '/moved': (response) => response.writeHead(301, { location: `${server.url}/shop${'/info/refs?service=git-upload-pack'}` }).end(),
    '/private': (response) => response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end(),
    '/page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    '/alternates/objects/info/http-alternates': (response) => response.writeHead(200).end(`${server.url}/shop/.git/objects\n`),
  });
  service = await startTestService({
    connections: {
      allow: ['loopback', 'git.example.com'],
      lookup: (host, _options, callback) =>
        host === 'git.example.com'
          ? callback(null, [{ address: '127.0.0.1', family: 4 }])
          : callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), []),
    },
  });
});

async function start(repository: object, steps = '- say: done') {
  const agent_id = await service.agent(steps);
  return service.api<{ run: { id: string; sandbox_id: string }; repository: RunRepository }>(
    'POST',
    `/teams/${service.service.teamId}/runs`,
    {
      agent_id,
      repository,
    },
  );
}
const failureIn = async (repository: object): Promise<string | null | undefined> => {
  const { run } = await start(repository);
  return (await service.until(run.id, 'failed')).run.error;
};
const changes = async (run: string) => (await service.api<{ data: RunChanges }>('GET', `/runs/${run}/sandbox/changes`)).data;

describe('a repository at a URL', () => {
  it.each([
    [undefined, () => second, 'main'],
    ['next/one', () => first, 'next/one'],
    ['refs/heads/next/one', () => first, 'next/one'],
    ['v1', () => first, null],
    ['the ID of a commit', () => first, null],
  ])('is fetched at %s', async (ref, commit, branch) => {
    const { run, repository } = await start(
      { url: `${server.url}/shop`, ref: ref?.startsWith('the') ? first : ref },
      '- exec: { run: "git log --format=%H > log; echo x > new" }',
    );
    expect(repository).toMatchObject({ kind: 'url', source: `${server.url}/shop`, commit: null, ready: false });
    await service.until(run.id, 'completed');
    const found = await changes(run.id);
    expect(found.repository).toMatchObject({ commit: commit(), base_branch: branch, ready: true });
    expect(found.files.map((file) => file.path)).toEqual(['log', 'new']);
    const log = await readFile(path.join(service.dataDirectory, 'sandboxes', run.sandbox_id, 'workspace', 'log'), 'utf8');
    expect(log.split('\n')[0]).toBe(commit());
  });

  it('is fetched from the address that was checked, whatever the name means elsewhere', async () => {
    const { run } = await start({ url: `http://git.example.com:${server.port}/shop` });
    await service.until(run.id, 'completed');
  });

  it('is not fetched again for another run at the same commit', async () => {
    const { run } = await start({ url: `${server.url}/shop` });
    await service.until(run.id, 'completed');
    server.requests.splice(0);
    const again = await start({ url: `${server.url}/shop` });
    await service.until(again.run.id, 'completed');
    // It only asks which commit is meant.
    expect(server.requests.filter((target) => target.startsWith('/shop'))).toHaveLength(2);
  });
});

describe('a URL that cannot be used', () => {
  it.each([
    ['ftp://127.0.0.1/shop', 'repository.url must be an http or https URL'],
    ['file:///etc', 'repository.url must be an http or https URL'],
    ['ext::sh -c id', 'repository.url must be an http or https URL'],
    ['ssh://git@127.0.0.1/shop', 'repository.url must be an http or https URL'],
    ['http://user:secret@127.0.0.1/shop', 'repository.url must not contain a user name or password'],
    [
      'http://10.0.0.1/shop',
      '400 {"error":"repository_host_not_allowed","message":"repository.url must not be at 10.0.0.1; to allow that, start the service with --allow-connection-host 10.0.0.1',
    ],
    ['http://169.254.169.254/latest', '400 {"error":"repository_host_not_allowed"'],
  ])('is refused immediately: %s', async (url, message) => {
    await expect(start({ url })).rejects.toThrow(message);
  });

  it('fails the run with what to do', async () => {
    const at = (name: string): object => ({ url: `${server.url}/${name}` });
    expect(await failureIn(at('nowhere'))).toMatch(/^git failed while reading .*\/nowhere: it does not exist\.$/);
    expect(await failureIn(at('empty'))).toMatch(/\/empty has no commit yet, or is not a git repository\.$/);
    expect(await failureIn(at('private'))).toMatch(/the server requires a sign-in.*Clone it on the machine of the service/);
    expect(await failureIn(at('moved'))).toMatch(/redirects to another address, and redirects are not followed/);
    expect(await failureIn(at('page'))).toMatch(/is not a git repository\.$/);
    expect(await failureIn({ ...at('shop'), ref: 'nowhere' })).toMatch(
      /^There is no branch or tag nowhere at .*\/shop\. To use a commit, specify its full ID\.$/,
    );
    expect(await failureIn({ ...at('shop'), ref: '0'.repeat(40) })).toMatch(/the server does not have that commit/);
    expect(await failureIn({ url: 'http://127.0.0.1:9/shop' })).toMatch(/the connection failed/);
    expect(await failureIn({ url: 'http://unknown.example.com/shop' })).toBe('The host name unknown.example.com could not be found.');
  });

  it('reports that no changes exist when the repository could not be read', async () => {
    const { run } = await start({ url: `${server.url}/nowhere` });
    await service.until(run.id, 'failed');
    await expect(changes(run.id)).rejects.toThrow(
      '409 {"error":"repository_not_ready","message":"The repository was never checked out: the run is failed, because git failed',
    );
  });
});
