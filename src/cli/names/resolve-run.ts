/** Resolves the name of a run. A command acts on a run only when the service's response confirms that it is the named one. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { RunListItem } from '../../interface/types.ts';
import type { Context } from '../kit/context.ts';
import { type NamedRun, parseRunName, type RunName } from './run-names.ts';

/** A run, together with its list entry if it had to be looked up. */
export interface ResolvedRun extends NamedRun {
  readonly listItem?: RunListItem;
}

/** Rows per page, and the maximum number of pages to read from a service that cannot look up a run. */
const pageSize = 100;
const maxPages = 20;

/**
 * The run that a text names. A complete ID is used without a request; anything else takes one request to a service that can look up
 * runs by number.
 * @throws UsageError for a text that does not name a run, or names several; AopsError `run_not_found` (exit 3)
 */
export async function resolveRun(context: Context, text: string): Promise<ResolvedRun> {
  const name = parseRunName(text);
  if (name.kind === 'id') return { id: name.id };
  const lookUp = new LookUp(await context.client(), context.teamId());
  const listItem =
    name.kind === 'latest'
      ? await lookUp.latest(name.back)
      : name.kind === 'number'
        ? await lookUp.byNumber(name)
        : await lookUp.byPrefix(name.prefix);
  return { id: listItem.id, run_number: listItem.run_number, listItem };
}

/** The ID of the run that a text names; see `resolveRun`. */
export const runId = async (context: Context, text: string): Promise<string> => (await resolveRun(context, text)).id;

/** The runs that several texts name, each once, in this order. @throws as `resolveRun` does */
export async function resolveRuns(context: Context, texts: readonly string[]): Promise<ResolvedRun[]> {
  const runs = new Map<string, ResolvedRun>();
  for (const text of texts) {
    const run = await resolveRun(context, text);
    if (!runs.has(run.id)) runs.set(run.id, run);
  }
  return [...runs.values()];
}

type Filter = { run_number?: number; search?: string; agent_id?: string };

class LookUp {
  readonly #client: Client;
  readonly #teamId: string;

  constructor(client: Client, teamId: string) {
    this.#client = client;
    this.#teamId = teamId;
  }

  async latest(back: number): Promise<RunListItem> {
    const { data, total } = await this.#page({}, 1, back);
    if (data[0]) return data[0];
    if (total === 0) throw notFound('There are no runs yet.', 'Start one with `aops runs start --agent AGENT`.');
    throw notFound(`There is no run @latest~${back}: the team has ${pluralize(total, 'run')}.`);
  }

  /**
   * The run with a number. If the service ignores or rejects the filter, its list is read from the newest run on, as long as the
   * numbers prove that no run was missed.
   */
  async byNumber({ number, agent }: RunName & { kind: 'number' }): Promise<RunListItem> {
    const run = await this.#findByNumber(number, agent);
    if (run) return run;
    throw notFound(`There is no run #${number}${agent === undefined ? '' : ` of the agent "${agent}"`}.`);
  }

  async #findByNumber(number: number, agent: string | undefined): Promise<RunListItem | undefined> {
    const matches = new Map<string, RunListItem>();
    let lastNumber = Number.POSITIVE_INFINITY;
    let isDescending = true;
    const seen = new Set<string>();
    let filter: Filter = { run_number: number };
    let offset = 0;
    for (let page = 0; page < maxPages; page += 1) {
      const { data, total } = await this.#page(filter, pageSize, offset).catch((error: unknown) => {
        if (!(error instanceof ServiceAnswerError) || error.status !== 400 || filter.run_number === undefined) throw error;
        filter = {};
        return this.#page(filter, pageSize, offset);
      });
      for (const run of data) {
        // A run that was started in between moves the others to later pages.
        isDescending &&= run.run_number < lastNumber || seen.has(run.id);
        seen.add(run.id);
        lastNumber = run.run_number;
        if (run.run_number === number && (agent === undefined || run.agent_name === agent)) matches.set(run.id, run);
      }
      offset += data.length;
      const isLastPage = data.length === 0 || offset >= total;
      if (!isLastPage && !(isDescending && lastNumber <= number)) continue;
      return onlyOne(`#${number}`, matches);
    }
    throw tooFar(`#${number}`, offset);
  }

  /** The run whose ID starts with a prefix. The search only saves pages: its results are compared, and without a result the list is read. */
  async byPrefix(prefix: string): Promise<RunListItem> {
    const run = (await this.#beginning(prefix, { search: prefix })) ?? (await this.#beginning(prefix, {}));
    if (run) return run;
    throw notFound(`There is no run whose ID starts with "${prefix}".`);
  }

  async #beginning(prefix: string, filter: Filter): Promise<RunListItem | undefined> {
    const matches = new Map<string, RunListItem>();
    let offset = 0;
    for (let page = 0; page < maxPages; page += 1) {
      const { data, total } = await this.#page(filter, pageSize, offset);
      for (const run of data) if (run.id.toLowerCase().startsWith(prefix)) matches.set(run.id, run);
      offset += data.length;
      if (data.length > 0 && offset < total) continue;
      return onlyOne(prefix, matches);
    }
    throw tooFar(prefix, offset);
  }

  async #page(filter: Filter, limit: number, offset: number) {
    return this.#client.call('listRuns', { params: { teamId: this.#teamId }, query: { ...filter, limit, offset } });
  }
}

const notFound = (message: string, hint = 'See the runs with `aops runs list`.'): AopsError =>
  new AopsError(message, { code: 'run_not_found', exit: exitCodes.notFound, hint });

/** The run that was found; undefined if there is none. @throws UsageError `run_ambiguous` for several */
function onlyOne(name: string, matches: ReadonlyMap<string, RunListItem>): RunListItem | undefined {
  const runs = [...matches.values()];
  if (runs.length > 1) throw severalRuns(name, runs);
  return runs[0];
}

/** Maximum number of candidates to name. */
const maxCandidates = 5;

function severalRuns(name: string, runs: readonly RunListItem[]): UsageError {
  const candidates = runs.slice(0, maxCandidates).map(({ id, agent_name, title }) => `${id} (${agent_name}: ${title})`);
  const omissionNote = runs.length > maxCandidates ? [`and ${runs.length - maxCandidates} more`] : [];
  return new UsageError(
    `"${name}" matches ${runs.length} runs.`,
    `Use the ID of one of them: ${[...candidates, ...omissionNote].join(', ')}`,
    'run_ambiguous',
  );
}

/** The service cannot look up the run, and has more runs than are read to find it. */
const tooFar = (name: string, readCount: number): UsageError =>
  new UsageError(
    `This service cannot look up "${name}", and the newest ${readCount} runs do not show for certain which run that is.`,
    'Use the ID of the run. `aops runs list -o id` prints IDs, and its filters narrow down the list.',
    'run_ambiguous',
  );
