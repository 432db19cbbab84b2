/** A client as it should be: each change has an idempotency key, and is sent to one node after the other until it is answered. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';

/** Milliseconds that an answer is waited for, before another node is asked. */
const attemptLimit = 5_000;
/** Milliseconds before the next attempt, unless the service asks for more. */
const retryPause = 100;
const maxRetryPause = 2_000;
/** Milliseconds after which a request counts as stuck. All faults pass sooner. */
const patience = 180_000;

/** A response that no retry can change. */
export class RefusedRequest extends Error {
  constructor(method: string, path: string, status: number, text: string) {
    super(`${method} ${path} -> ${status} ${text}`);
    this.name = 'RefusedRequest';
  }
}

export class UnansweredRequest extends Error {
  constructor(method: string, path: string, lastProblem: string) {
    super(`${method} ${path} was not answered for ${patience / 1_000} seconds; the last attempt: ${lastProblem}`);
    this.name = 'UnansweredRequest';
  }
}

type Outcome = { body: unknown } | { problem: string; wait?: number };

export class ChaosClient {
  /** Changes that were answered, attempts without an answer, and milliseconds until the slowest answer. */
  readonly figures = { changes: 0, replayed: 0, retries: 0, longestWait: 0 };
  readonly #cluster: Cluster;
  readonly #token: string;
  #turn = 0;

  constructor(cluster: Cluster, token: string) {
    this.#cluster = cluster;
    this.#token = token;
  }

  /** Sends a change until it is answered. @throws RefusedRequest, UnansweredRequest */
  async change<Answer>(method: 'POST' | 'PATCH', path: string, body: unknown): Promise<Answer> {
    const answer = await this.#untilAnswered(method, path, { key: randomUUID(), body: JSON.stringify(body) });
    this.figures.changes += 1;
    return answer as Answer;
  }

  /** @throws RefusedRequest, UnansweredRequest */
  async read<Answer>(path: string): Promise<Answer> {
    return (await this.#untilAnswered('GET', path)) as Answer;
  }

  /** All rows of a list, each once: rows that are created meanwhile shift the pages. @param name of the property with the rows */
  async list<Row extends { id: string }>(path: string, name: string, limit: number): Promise<Row[]> {
    const rows = new Map<string, Row>();
    for (let offset = 0; ; ) {
      const paging = `${path.includes('?') ? '&' : '?'}limit=${limit}&offset=${offset}`;
      const page = await this.read<Record<string, Row[]> & { total: number }>(path + paging);
      const added = page[name] as Row[];
      for (const row of added) rows.set(row.id, row);
      offset += added.length;
      if (added.length === 0 || offset >= page.total) return [...rows.values()];
    }
  }

  /** The sum of a metric over the nodes that answer. */
  async metric(url: string, pattern: RegExp): Promise<number> {
    const text = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(attemptLimit) })
      .then((response) => response.text())
      .catch(() => '');
    return [...text.matchAll(pattern)].reduce((sum, match) => sum + Number(match[1]), 0);
  }

  async #untilAnswered(method: string, path: string, change?: { key: string; body: string }): Promise<unknown> {
    const startedAt = performance.now();
    for (let problem = 'none'; performance.now() - startedAt < patience; ) {
      const outcome = await this.#attempt(method, path, change);
      if ('body' in outcome) {
        this.figures.longestWait = Math.max(this.figures.longestWait, performance.now() - startedAt);
        return outcome.body;
      }
      problem = outcome.problem;
      this.figures.retries += 1;
      await pause(outcome.wait ?? retryPause);
      if (performance.now() - startedAt >= patience) throw new UnansweredRequest(method, path, problem);
    }
    throw new UnansweredRequest(method, path, 'none');
  }

  async #attempt(method: string, path: string, change?: { key: string; body: string }): Promise<Outcome> {
    const urls = this.#cluster.urls;
    if (urls.length === 0) return { problem: 'no node is running' };
    this.#turn += 1;
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}` };
    if (change !== undefined) Object.assign(headers, { 'content-type': 'application/json', 'idempotency-key': change.key });
    try {
      const response = await fetch(`${urls[this.#turn % urls.length]}${path}`, {
        ...{ method, headers, signal: AbortSignal.timeout(attemptLimit) },
        ...(change === undefined ? {} : { body: change.body }),
      });
      const text = await response.text();
      if (response.ok) {
        if (response.headers.get('idempotency-replayed') === 'true') this.figures.replayed += 1;
        return { body: JSON.parse(text) };
      }
      if (isTemporary(response.status, text))
        return { problem: `${response.status} ${text}`, wait: waitOf(response.headers.get('retry-after')) };
      throw new RefusedRequest(method, path, response.status, text);
    } catch (error) {
      if (error instanceof RefusedRequest) throw error;
      return { problem: `${error}` };
    }
  }
}

const isTemporary = (status: number, text: string): boolean => status >= 500 || status === 429 || text.includes('idempotency_in_progress');

/** Milliseconds that the service asks to wait. @param seconds of `Retry-After` */
const waitOf = (seconds: string | null): number => Math.min(maxRetryPause, Math.max(retryPause, 1_000 * Number(seconds ?? 0)));
