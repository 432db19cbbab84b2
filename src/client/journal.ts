/**
 * Changes that were sent and whose outcome is not yet known, in one private file each: written before a change is first
 * sent, and removed when its outcome is known. Changes that remain can be sent again with their keys while the service
 * remembers those. Entries contain the request and the displayable name of the credential.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { crypto } from '../base/crypto.ts';
import { makeFolders } from '../base/make-folders.ts';
import { jsonValue } from '../base/values.ts';
import { isAnswerText } from './json-rpc.ts';
import type { ServiceRequest } from './request.ts';

export interface JournalEntry {
  /** The Idempotency-Key with which it was sent. */
  key: string;
  /** The key of its command, as reported to the user. */
  command_key: string;
  base_url: string;
  /** Identifies the credential without being secret: keys are stored per credential. */
  credential?: string;
  method: string;
  path: string;
  content_type: string | null;
  /** Other headers that the service needs to understand the request. */
  headers?: Record<string, string>;
  /** Base64; null when there is no body. */
  body: string | null;
  /** ISO 8601. */
  sent_at: string;
}

/** The service stores results for 24 hours (interface part 8); one hour is a margin for inaccurate clocks. */
export const journalLifeMilliseconds = 23 * 3_600_000;

/** Headers stored in addition to the content type: those of the Model Context Protocol, which repeat parts of the body. */
const storedHeaders = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** Larger bodies are not stored: repeating the command sends them again. */
const maxBodyBytes = 1024 * 1024;

export class ChangeJournal {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #credential: string;

  /**
   * @param folder created by the first write, with mode 0700
   * @param credential identifies the credential that changes are sent with, without being secret
   */
  constructor(folder: string, clock: Clock, credential: string) {
    this.#folder = folder;
    this.#clock = clock;
    this.#credential = credential;
  }

  /** Notes a change before it is sent. Resolves to whether it could be stored. */
  async open(request: ServiceRequest, keys: { key: string; commandKey: string }, baseUrl: string): Promise<boolean> {
    const body = request.body === undefined ? null : Buffer.from(request.body);
    if (body !== null && body.length > maxBodyBytes) return false;
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => storedHeaders.includes(name)));
    const entry: JournalEntry = {
      key: keys.key,
      command_key: keys.commandKey,
      base_url: baseUrl,
      credential: this.#credential,
      method: request.method,
      path: request.path,
      content_type: request.headers['content-type'] ?? null,
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      body: body === null ? null : body.toString('base64'),
      sent_at: new Date(this.#clock.now()).toISOString(),
    };
    const file = this.#fileOf(keys.key, baseUrl);
    try {
      makeFolders(this.#folder, 0o700);
      await fs.promises.writeFile(`${file}.new`, JSON.stringify(entry), { mode: 0o600 });
      await fs.promises.rename(`${file}.new`, file);
      return true;
    } catch {
      // A journal that cannot be written (a read-only home directory) must not stop the command.
      await fs.promises.rm(`${file}.new`, { force: true }).catch(() => undefined);
      return false;
    }
  }

  /** Removes a change whose outcome is known. */
  async settle(key: string, baseUrl: string): Promise<void> {
    await fs.promises.rm(this.#fileOf(key, baseUrl), { force: true }).catch(() => undefined);
  }

  /** The changes whose outcome is unknown, oldest first. Changes that are too old to be sent again are removed. */
  async list(): Promise<JournalEntry[]> {
    const names = await fs.promises.readdir(this.#folder).catch((): string[] => []);
    const entries = await Promise.all(names.filter((name) => name.endsWith('.json')).map((name) => this.#read(name)));
    return entries.filter((entry) => entry !== undefined).sort((a, b) => (a.sent_at < b.sent_at ? -1 : 1));
  }

  async #read(name: string): Promise<JournalEntry | undefined> {
    const file = path.join(this.#folder, name);
    const entry = await fs.promises.readFile(file, 'utf8').then(parseEntry, () => undefined);
    const age = entry ? this.#clock.now() - Date.parse(entry.sent_at) : Number.POSITIVE_INFINITY;
    if (entry && age < journalLifeMilliseconds) return entry;
    await fs.promises.rm(file, { force: true }).catch(() => undefined);
    return undefined;
  }

  /** The same key means another change at another service or with another credential. */
  #fileOf(key: string, baseUrl: string): string {
    const name = JSON.stringify([key, baseUrl, this.#credential]);
    return path.join(this.#folder, `${crypto().createHash('sha256').update(name).digest('hex').slice(0, 40)}.json`);
  }
}

/** The request of an entry, as it was first sent. */
export function requestOf(entry: JournalEntry): ServiceRequest {
  return {
    method: entry.method,
    path: entry.path,
    headers: { ...entry.headers, ...(entry.content_type === null ? {} : { 'content-type': entry.content_type }) },
    ...(entry.headers?.accept?.includes('text/event-stream') ? { onMessage: isAnswerText } : {}),
    ...(entry.body === null ? {} : { body: Buffer.from(entry.body, 'base64') }),
    mutates: true,
  };
}

function parseEntry(text: string): JournalEntry | undefined {
  const entry: Partial<JournalEntry> = (jsonValue(text) ?? {}) as Partial<JournalEntry>;
  const texts = [entry.key, entry.command_key, entry.base_url, entry.method, entry.path, entry.sent_at];
  return texts.every((value) => typeof value === 'string') ? (entry as JournalEntry) : undefined;
}
