/** `aops inbox --all-profiles`: the requests of every profile. A profile that cannot be read is reported, and the others are still shown. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { contextOfProfile } from '../../cli/connect/profile-context.ts';
import type { PendingRequest } from '../../cli/following/pending-requests.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { Client } from '../../client/client.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { mergeRequests, oldestFirst, requestKey } from './inbox-feed.ts';

/** A profile with which requests are read and answered. */
export interface Access {
  context: Context;
  client: Client;
}

export type ReadRequests = (access: Access) => Promise<PendingRequest[]>;

export class AllProfiles {
  readonly #context: Context;
  /** The current profile first: if several profiles have a request, it is shown with the first one. */
  readonly names: readonly string[];
  readonly #accesses = new Map<string, Access>();
  readonly #failures = new Map<string, AopsError>();
  /** Profiles whose answers were refused. */
  readonly #refused = new Set<string>();

  /** @throws AopsError `no_profiles` */
  constructor(context: Context) {
    this.#context = context;
    const profiles = context.store.profiles().sort((a, b) => Number(b.current) - Number(a.current));
    this.names = profiles.map(({ name }) => name);
    if (profiles.length === 0)
      throw new AopsError('There are no profiles.', {
        code: 'no_profiles',
        exit: exitCodes.auth,
        hint: 'Create one with `aops auth login` or `aops local up`.',
      });
  }

  /** The requests of all profiles that can be read, oldest first, each only once. */
  async load(read: ReadRequests): Promise<PendingRequest[]> {
    const lists = await Promise.all(this.names.map((name) => this.#requestsOf(name, read)));
    const entries = lists.flat().map((request) => [requestKey(this.accessOf(request).client.baseUrl, request.id), request] as const);
    return oldestFirst(mergeRequests(entries, this.isRefused));
  }

  /** The profile with which a request was read, for answering it. */
  readonly accessOf = ({ profile }: PendingRequest): Access => this.#accesses.get(profile as string) as Access;

  /** Remembers that the profile of a request may not answer: if another one has the same request, it is shown with that one from now on. */
  refuse({ profile }: PendingRequest): void {
    this.#refused.add(profile as string);
  }

  readonly isRefused = ({ profile }: PendingRequest): boolean => this.#refused.has(profile as string);

  /** The error for profiles that could not be read, with the exit code of the first one; undefined if all were read. */
  get error(): AopsError | undefined {
    const [first] = this.#failures.values();
    if (first === undefined) return undefined;
    return new AopsError(`${this.#failures.size} of ${pluralize(this.names.length, 'profile')} could not be read.`, {
      code: 'profiles_not_read',
      exit: first.exit,
      hint: first.hint,
      cause: first,
    });
  }

  async close(): Promise<void> {
    for (const { client } of this.#accesses.values()) await client.close();
  }

  /**
   * Reports that a profile can no longer be watched.
   * @returns the error that ends watching, if this was the last profile, or if the command was interrupted
   */
  endWatching(name: string, error: unknown): unknown {
    if (!(error instanceof AopsError) || this.#context.signal.aborted) return error;
    this.#fail(name, error, ' It is no longer watched.');
    return this.#failures.size < this.names.length ? undefined : this.error;
  }

  async #requestsOf(name: string, read: ReadRequests): Promise<PendingRequest[]> {
    if (this.#failures.has(name)) return [];
    try {
      return (await read(await this.open(name))).map((request) => ({ ...request, profile: name }));
    } catch (error) {
      if (!(error instanceof AopsError) || this.#context.signal.aborted) throw error;
      this.#fail(name, error);
      return [];
    }
  }

  #fail(name: string, error: AopsError, note = ''): void {
    this.#failures.set(name, error);
    this.#context.terminal.warn(`Profile "${name}": ${sanitizeLine(error.message)}${note}`);
  }

  /** @throws AopsError if the profile cannot be used, for example because it is not signed in */
  async open(name: string): Promise<Access> {
    const existing = this.#accesses.get(name);
    if (existing !== undefined) return existing;
    const context = contextOfProfile(this.#context, name);
    const access = { context, client: await context.client() };
    this.#accesses.set(name, access);
    return access;
  }
}
