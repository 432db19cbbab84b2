/** Secrets that the service issues. It stores only their SHA-256: they are random and long, so a slower hash is not needed. */
import { Buffer } from 'node:buffer';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** The prefixes distinguish secrets, for people and for programs that search for leaked secrets. */
const prefixes = {
  local: 'aops_local',
  token: 'aops_token',
  client_secret: 'aops_secret',
  access_token: 'aops_access',
  page: 'aops_page',
  run: 'aops_run',
} as const;

/** A new secret of 256 random bits, written with letters, digits, dashes, and underscores. */
export const newSecret = (kind: keyof typeof prefixes): string => `${prefixes[kind]}_${randomBytes(32).toString('base64url')}`;

/** The form in which a secret is stored. */
export const secretHash = (secret: string): string => hash('sha256', secret);

/** Whether two hashes are equal. The comparison takes the same time wherever they differ. */
export const isSameHash = (a: string, b: string): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
