/**
 * Changes that were sent and whose outcome is not known yet, one private file each: written before a change is first
 * sent, removed when its outcome is known. What is left can be sent again with its key while the service remembers it.
 * Entries hold the request, and of the credential what may be shown of it.
 */
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { crypto } from '../base/crypto.ts';
import { makeFolders } from '../base/make-folders.ts';
import { isAnswerText } from './json-rpc.ts';
import type { ServiceRequest } from './request.ts';

export interface JournalEntry {
  /** The Idempotency-Key it was sent with. */
  key: string;
  /** The key of its command: what the user was told. */
  command_key: string;
  base_url: string;
  /** What tells the credential from others, and is no secret: keys are kept for each. */
  credential?: string;
  method: string;
  path: string;
  content_type: string | null;
  /** What else the service needs to understand it. */
  headers?: Record<string, string>;
  /** Base64; null when there is no body. */
  body: string | null;
  /** ISO 8601. */
  sent_at: string;
}

/** The service keeps results for 24 hours (interface part 8); an hour of it is the margin for clocks. */
export const journalLifeMilliseconds = 23 * 3_600_000;

/** Headers that are kept, beside the type of the body: those of the Model Context Protocol, which say what is in it anyway. */
const keptHeaders = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** Larger bodies are not kept: repeating the command sends them again. */
const largestBody = 1024 * 1024;

export class ChangeJournal {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #credential: string;

  /**
   * @param folder made at the first write, with mode 0700
   * @param credential what tells the one that changes are sent with from others, and is no secret
   */
  constructor(folder: string, clock: Clock, credential: string) {
    this.#folder = folder;
    this.#clock = clock;
    this.#credential = credential;
  }

  /** Notes a change before it is sent. Resolves to whether it could be kept. */
  async open(request: ServiceRequest, keys: { key: string; commandKey: string }, baseUrl: string): Promise<boolean> {
    const body = request.body === undefined ? null : Buffer.from(request.body);
    if (body !== null && body.length > largestBody) return false;
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => keptHeaders.includes(name)));
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
      await writeFile(`${file}.new`, JSON.stringify(entry), { mode: 0o600 });
      await rename(`${file}.new`, file);
      return true;
    } catch {
      // A journal that cannot be written (a read-only home) must not keep anybody from working.
      return false;
    }
  }

  /** Forgets a change whose outcome is known. */
  async settle(key: string, baseUrl: string): Promise<void> {
    await rm(this.#fileOf(key, baseUrl), { force: true }).catch(() => undefined);
  }

  /** The changes whose outcome is unknown, the oldest first. Those that are too old to be sent again are dropped. */
  async list(): Promise<JournalEntry[]> {
    const names = await readdir(this.#folder).catch((): string[] => []);
    const entries = await Promise.all(names.filter((name) => name.endsWith('.json')).map((name) => this.#read(name)));
    return entries.filter((entry) => entry !== undefined).sort((a, b) => (a.sent_at < b.sent_at ? -1 : 1));
  }

  async #read(name: string): Promise<JournalEntry | undefined> {
    const file = path.join(this.#folder, name);
    const entry = await readFile(file, 'utf8').then(parseEntry, () => undefined);
    const age = entry ? this.#clock.now() - Date.parse(entry.sent_at) : Number.POSITIVE_INFINITY;
    if (entry && age < journalLifeMilliseconds) return entry;
    await rm(file, { force: true }).catch(() => undefined);
    return undefined;
  }

  /** The same key is another one at another service, and with another credential. */
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
  try {
    const entry = JSON.parse(text) as Partial<JournalEntry> | null;
    const texts = [entry?.key, entry?.command_key, entry?.base_url, entry?.method, entry?.path, entry?.sent_at];
    return texts.every((value) => typeof value === 'string') ? (entry as JournalEntry) : undefined;
  } catch {
    return undefined;
  }
}
