/** Selects the credential: the environment's, or else the profile's, which is used only at the origin it was saved for. */
import { AopsError, exitCodes } from '../base/errors.ts';
import { normaliseTokenUrl, originOf } from './base-url.ts';
import type { Environment } from './paths.ts';
import type { ResolvedValue } from './resolved.ts';
import { checkClientText, checkScope, checkSecret, maskSecret } from './secret.ts';
import type { ConfigStore, Credential, StoredCredential } from './store.ts';

/** A usable credential; the token URL is missing when the environment sets only ID and secret. */
export type UsableCredential =
  | { type: 'token'; token: string }
  | { type: 'client_credentials'; client_id: string; client_secret: string; token_url?: string; scope?: string };

export interface CredentialResolution {
  credential: ResolvedValue<UsableCredential | undefined> & {
    /** The credential with its secret masked, for display. */
    masked?: string;
    /** The origin that a stored credential is bound to. */
    origin?: string;
  };
  /** Why the selected credential cannot be used. */
  credential_problem?: AopsError;
}

interface CredentialInput {
  env: Environment;
  store: ConfigStore;
  profile: string | undefined;
  baseUrl: string | undefined;
}

/** Does not throw for an invalid credential: the problem is part of the result, so that `auth status` can explain it. */
export function resolveCredential(input: CredentialInput): CredentialResolution {
  const none: CredentialResolution['credential'] = { value: undefined, source: 'default', name: 'not signed in', shadowed: [] };
  try {
    const [first, ...rest] = candidates(input);
    if (!first) return { credential: none };
    const shadowed = rest.map(({ source, name, value }) => ({ source, name, value: maskCredential(value) }));
    const origin = first.origin === undefined ? {} : { origin: first.origin };
    const credential = { source: first.source, name: first.name, shadowed, masked: maskCredential(first.value), ...origin };
    const problem = first.origin === undefined ? undefined : originMismatch(first.origin, first.name, input.baseUrl);
    if (problem) return { credential: { ...credential, value: undefined }, credential_problem: problem };
    return { credential: { ...credential, value: first.value } };
  } catch (error) {
    if (error instanceof AopsError) return { credential: none, credential_problem: error };
    throw error;
  }
}

/** A credential with its secret masked, for display. */
export function maskCredential(credential: UsableCredential): string {
  return credential.type === 'token' ? maskSecret(credential.token) : `${credential.client_id} / ${maskSecret(credential.client_secret)}`;
}

/** A displayable name that identifies the credential: a client's ID, so that another secret of the same client has the same name. */
export const credentialName = ({ value, masked = '' }: CredentialResolution['credential']): string =>
  value?.type === 'client_credentials' ? value.client_id : masked;

interface CredentialCandidate {
  value: UsableCredential;
  source: 'environment' | 'profile';
  name: string;
  /** The origin a stored credential is bound to. */
  origin?: string;
}

function candidates({ env, store, profile }: CredentialInput): CredentialCandidate[] {
  const credentials: CredentialCandidate[] = [];
  const token = env.AOPS_API_KEY?.trim();
  if (token)
    credentials.push({ value: { type: 'token', token: checkSecret(token, 'AOPS_API_KEY') }, source: 'environment', name: 'AOPS_API_KEY' });
  // A broken source of lower precedence must not stop the key from being used.
  const weaker = () => [...clientFromEnvironment(env), ...fromProfile(store, profile)];
  if (credentials.length === 0) return weaker();
  try {
    return [...credentials, ...weaker()];
  } catch (error) {
    if (error instanceof AopsError) return credentials;
    throw error;
  }
}

function clientFromEnvironment(env: Environment): CredentialCandidate[] {
  const id = env.AOPS_CLIENT_ID?.trim();
  const secret = env.AOPS_CLIENT_SECRET?.trim();
  if (!id && !secret) return [];
  if (!id || !secret) {
    const [present, missing] = id ? ['AOPS_CLIENT_ID', 'AOPS_CLIENT_SECRET'] : ['AOPS_CLIENT_SECRET', 'AOPS_CLIENT_ID'];
    throw new AopsError(`${present} is set, but ${missing} is not.`, {
      code: 'credential_incomplete',
      exit: exitCodes.auth,
      hint: `Set both, or unset ${present}.`,
    });
  }
  const tokenUrl = env.AOPS_TOKEN_URL?.trim();
  const scope = env.AOPS_SCOPE?.trim();
  const value: UsableCredential = {
    type: 'client_credentials',
    client_id: checkClientText(id, 'AOPS_CLIENT_ID'),
    client_secret: checkClientText(secret, 'AOPS_CLIENT_SECRET'),
    ...(tokenUrl ? { token_url: normaliseTokenUrl(tokenUrl, 'AOPS_TOKEN_URL') } : {}),
    ...(scope ? { scope: checkScope(scope, 'AOPS_SCOPE') } : {}),
  };
  return [{ value, source: 'environment', name: 'AOPS_CLIENT_ID' }];
}

function fromProfile(store: ConfigStore, profile: string | undefined): CredentialCandidate[] {
  const storedCredential = profile === undefined ? undefined : store.credential(profile);
  if (!storedCredential) return [];
  return [
    {
      value: checkCredential(storedCredential, profile as string),
      source: 'profile',
      name: `profile ${profile}`,
      origin: storedCredential.origin,
    },
  ];
}

function checkCredential(storedCredential: StoredCredential, profile: string): Credential {
  const name = `The credential of profile "${profile}"`;
  if (storedCredential.type === 'token') return { type: 'token', token: checkSecret(storedCredential.token, name) };
  const { client_id, client_secret, token_url, scope } = storedCredential;
  return {
    type: 'client_credentials',
    client_id: checkClientText(client_id, name),
    client_secret: checkClientText(client_secret, name),
    token_url: normaliseTokenUrl(token_url, `The token URL of profile "${profile}"`),
    ...(scope === undefined ? {} : { scope: checkScope(scope, `The scope of profile "${profile}"`) }),
  };
}

function originMismatch(origin: string, name: string, baseUrl: string | undefined): AopsError | undefined {
  if (baseUrl === undefined || originOf(baseUrl) === origin) return undefined;
  return new AopsError(`The credential of ${name} was saved for ${origin} and is not sent to ${originOf(baseUrl)}.`, {
    code: 'credential_other_origin',
    exit: exitCodes.auth,
    hint: 'Sign in there with `aops auth login`, or set AOPS_API_KEY to a credential for it.',
  });
}
