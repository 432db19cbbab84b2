/**
 * Reads a repository at a URL. The service must be allowed to connect to its host. git then connects only to the addresses that
 * were checked, because it does not follow redirects or look up names.
 */
import { isIP } from 'node:net';
import { ServiceError } from '../errors.ts';
import { checkOutboundUrl } from '../outbound/check-url.ts';
import type { GuardedAgent } from '../outbound/guarded-agent.ts';
import { wordFor } from '../outbound/host-rules.ts';
import { type Git, textOf } from './git.ts';
import { gitFailure, outdatedGitError } from './problems.ts';
import { describeSource, isCommitId, type RepositorySource } from './source.ts';

/** The first version of git that supports `http.curloptResolve`, which makes it connect to specific addresses. */
const pinningVersion = '2.37';
const timeLimit = 60_000;

/** What git needs to reach a repository. */
export interface RemoteAccess {
  url: string;
  /** Options of git. */
  options: string[];
}

/** The URL in its normal form. Throws 400 for one that is not plain http or https, or whose host is not allowed. */
export const checkRepositoryUrl = (agent: GuardedAgent, url: string): Promise<string> =>
  checkOutboundUrl(agent, url, {
    field: 'repository.url',
    code: 'repository_host_not_allowed',
    refusalMessage: (host) => `must not be at ${host}; to allow that, start the service with --allow-connection-host ${wordFor(host)}`,
  });

/** Checks the host and pins its addresses. Throws 400 `repository_host_not_allowed` if none of them is allowed, and 409 `git_outdated`. */
export async function remoteAccess(git: Git, agent: GuardedAgent, location: string, signal: AbortSignal): Promise<RemoteAccess> {
  const url = await checkRepositoryUrl(agent, location);
  const { hostname, port, protocol } = new URL(url);
  const version = await git.version(signal);
  if (version.localeCompare(pinningVersion, 'en', { numeric: true }) < 0)
    throw outdatedGitError(version, pinningVersion, 'repositories at URLs');
  if (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0) return { url, options: [] };
  const addresses = await agent.allowedAddresses(hostname);
  if (addresses.length === 0) {
    throw new ServiceError(400, 'repository_unreachable', `The host name ${hostname} could not be found.`);
  }
  const target = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}:${addresses.map(bracket).join(',')}`;
  return { url, options: ['-c', `http.curloptResolve=${target}`] };
}

const bracket = (address: string): string => (address.includes(':') ? `[${address}]` : address);

/** Resolves the source to a commit and the ref to fetch it with. Throws 400 if the server does not have it. */
export async function readRemoteBase(
  git: Git,
  { url, options }: RemoteAccess,
  source: RepositorySource,
  { cwd, signal }: { cwd: string; signal: AbortSignal },
): Promise<{ commit: string; branch: string | undefined; fetchRef: string }> {
  const { ref } = source;
  if (ref !== undefined && isCommitId(ref)) return { commit: ref, branch: undefined, fetchRef: ref };
  const names = ref === undefined ? ['HEAD'] : ref.startsWith('refs/') ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`];
  const task = `reading ${describeSource(source)}`;
  const result = await git.run([...options, 'ls-remote', '--symref', '--', url, ...names, ...names.map((name) => `${name}^{}`)], {
    cwd,
    signal,
    task,
    timeLimit,
    protocols: 'http:https',
  });
  if (result.code !== 0) throw gitFailure(task, result);
  const lines = textOf(result.stdout)
    .split('\n')
    .map((line) => line.split('\t'));
  const commits = new Map(lines.flatMap(([id = '', name]) => (name !== undefined && isCommitId(id) ? [[name, id] as const] : [])));
  for (const name of names) {
    const commit = commits.get(`${name}^{}`) ?? commits.get(name);
    if (commit === undefined) continue;
    const symbolic = lines.find(([target, link]) => link === name && target?.startsWith('ref: '))?.[0]?.slice('ref: '.length);
    return { commit, branch: /^refs\/heads\/(.+)$/.exec(symbolic ?? name)?.[1], fetchRef: symbolic ?? name };
  }
  throw ref === undefined
    ? new ServiceError(400, 'repository_empty', `${url} has no commit yet, or is not a git repository.`)
    : new ServiceError(400, 'ref_not_found', `There is no branch or tag ${ref} at ${url}. To use a commit, specify its full ID.`);
}
