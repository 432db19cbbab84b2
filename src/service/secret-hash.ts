/** Secrets that the service hands out. It keeps their SHA-256 alone: they are random and long, so nothing slower is needed. */
import { Buffer } from 'node:buffer';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Told apart by how they begin, for people and for programs that look for leaked secrets. */
const prefixes = {
  local: 'aops_local',
  token: 'aops_token',
  client_secret: 'aops_secret',
  access_token: 'aops_access',
  page: 'aops_page',
} as const;

/** A new secret of 256 random bits, in letters, digits, dashes and underscores. */
export const newSecret = (kind: keyof typeof prefixes): string => `${prefixes[kind]}_${randomBytes(32).toString('base64url')}`;

/** How a secret is stored. */
export const secretHash = (secret: string): string => hash('sha256', secret);

/** Whether two hashes are the same, in a time that does not tell where they differ. */
export const isSameHash = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
