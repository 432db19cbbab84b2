/** The source of a run's repository, as callers specify it. Pure. */
import path from 'node:path';
import { ServiceError } from '../errors.ts';

export interface RepositorySource {
  /** A folder of this machine, or an http(s) URL. */
  kind: 'path' | 'url';
  location: string;
  /** A branch, a tag, or a commit; by default, the commit that is checked out in the folder, or the default branch of the URL. */
  ref: string | undefined;
}

const invalid = (field: string, message: string, code = 'invalid_request'): ServiceError =>
  new ServiceError(400, code, `${field} ${message}.`, { details: [{ path: field, message }] });

/** The source in the body of a request. Throws 400 `invalid_request` if it is not exactly one path or URL, or the ref is unusable. */
export function sourceOf({ path: folder, url, ref }: { path?: string; url?: string; ref?: string }): RepositorySource {
  if ((folder === undefined) === (url === undefined)) throw invalid('repository', 'must have either path or url');
  // A leading dash would be an option of git, and git itself permits none of these characters in names.
  if (ref !== undefined && !/^[^-\s\p{Cc}][^\s\p{Cc}]*$/u.test(ref))
    throw invalid('repository.ref', 'must be a branch, a tag, or a commit');
  if (url !== undefined) return { kind: 'url', location: url, ref };
  const location = folder as string;
  if (!path.isAbsolute(location) || location.includes('\0')) throw invalid('repository.path', 'must be an absolute path');
  return { kind: 'path', location: path.normalize(location), ref };
}

const shortLength = 7;

export const shortCommit = (commit: string): string => commit.slice(0, shortLength);

/** A commit ID, which is as long as the repository's hash: SHA-1 or SHA-256. */
export const isCommitId = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

export const objectFormatOf = (commit: string): 'sha1' | 'sha256' => (commit.length === 64 ? 'sha256' : 'sha1');

/** The source in words: `main of /home/me/shop`. */
export const describeSource = ({ location, ref }: Pick<RepositorySource, 'location' | 'ref'>): string =>
  ref === undefined ? location : `${ref} of ${location}`;
