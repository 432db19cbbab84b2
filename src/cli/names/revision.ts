/** Resolves the name of a revision: its ID, `AGENT@live`, `AGENT@latest`, `AGENT@3`, or with --agent only the part after the @. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import { pagedRows } from '../../client/paging.ts';
import type { Build } from '../../interface/types.ts';
import { type Check, isUuid } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';
import { argument, text } from '../kit/flags.ts';
import { agentId } from './resolve.ts';

const word = /^(?:live|latest|[1-9]\d*)$/;

/** Checks that a text can name a revision. */
const naming =
  (advice = ''): Check =>
  (value, name) => {
    if (isUuid(value) || word.test(value.slice(value.lastIndexOf('@') + 1))) return value;
    throw new UsageError(`${name} must be a revision, not "${value}".`, `Use its ID, or AGENT@live, AGENT@latest or AGENT@3.${advice}`);
  };

/** An argument that names a revision. */
export const namedRevision = (summary: string) => argument(summary, { complete: 'revisions', check: naming() });
export const revisionArgument = namedRevision('The revision: its ID, or AGENT@live, AGENT@latest, AGENT@NUMBER');
/** A flag that names the revision to start from. */
export const copiedRevision = (summary: string) =>
  text('REVISION', summary, { complete: 'revisions', check: naming(' To use a procedure in a file, pass --procedure.') });
/** A flag that names a revision of the command's agent. */
export const revisionOfAgent = (summary: string) =>
  text('REVISION', `${summary}: its ID, live, latest, or its number`, { complete: 'revisions', check: naming() });
export const agentFlag = text('ID|NAME', 'The agent, if the revision is only live, latest or a number', { complete: 'agents' });

type Wanted = { id: string } | { agent: string; which: string };

function read(given: string, agent: string | undefined): Wanted {
  if (isUuid(given)) return { id: given.toLowerCase() };
  const at = given.lastIndexOf('@');
  const which = given.slice(at + 1);
  const owner = at > 0 ? given.slice(0, at) : agent;
  if (word.test(which) && owner !== undefined && at !== 0) return { agent: owner, which };
  throw new UsageError(`"${given}" does not say which agent the revision belongs to.`, `Write AGENT@${which}, or add --agent AGENT.`);
}

/** The ID of a revision. An ID is used without a request. @throws AopsError `revision_not_found` (exit 3) */
export async function revisionId(context: Context, given: string, agent?: string): Promise<string> {
  const wanted = read(given, agent);
  return 'id' in wanted ? wanted.id : (await pick(context, await agentId(context, wanted.agent), wanted.which)).id;
}

/** A revision with all its fields. @throws AopsError `revision_not_found` (exit 3) */
export async function findRevision(context: Context, given: string, agent?: string): Promise<Build> {
  const wanted = read(given, agent);
  if ('id' in wanted) return byId(context, wanted.id, agent);
  return pick(context, await agentId(context, wanted.agent), wanted.which);
}

/** The revisions of an agent, newest first. */
export async function* revisionsOf(context: Context, agent: string): AsyncGenerator<Build> {
  const client = await context.client();
  yield* pagedRows(async (limit, offset) => {
    const page = await client.call('listAgentRevisions', { params: { agent_id: agent }, query: { limit, offset } });
    return { items: page.builds, total: page.total };
  }, 100);
}

/** The live revision of an agent, if it has one. */
export async function liveRevision(context: Context, agent: string): Promise<Build | undefined> {
  for await (const build of revisionsOf(context, agent)) if (build.status === 'live') return build;
  return undefined;
}

async function pick(context: Context, agent: string, which: string): Promise<Build> {
  for await (const build of revisionsOf(context, agent)) {
    if (which === 'latest' || (which === 'live' && build.status === 'live') || String(build.revision_number) === which) return build;
  }
  const what = which === 'live' ? 'no live revision' : which === 'latest' ? 'no revisions yet' : `no revision ${which}`;
  throw new AopsError(`The agent has ${what}.`, {
    code: 'revision_not_found',
    exit: exitCodes.notFound,
    hint:
      which === 'latest'
        ? `Give it a procedure with \`aops agents update ${agent} --procedure FILE\`.`
        : `See its revisions with \`aops revisions list ${agent}\`.`,
  });
}

/** The interface reads a revision by agent and ID. If only the ID is known, the agents are tried one by one. */
async function byId(context: Context, id: string, agent: string | undefined): Promise<Build> {
  const client = await context.client();
  if (agent !== undefined) {
    return (await client.call('getRevision', { params: { agent_id: await agentId(context, agent), build_id: id } })).build;
  }
  const teamId = context.teamId();
  const owners: string[] = [];
  const agents = pagedRows(async (limit, offset) => {
    const page = await client.call('listAgents', { params: { teamId }, query: { limit, offset } });
    return { items: page.agents, total: page.total };
  }, 100);
  for await (const { id: owner, latest_build: latest } of agents) {
    if (latest?.id === id) return latest;
    owners.push(owner);
  }
  for (const owner of owners) {
    try {
      return (await client.call('getRevision', { params: { agent_id: owner, build_id: id } })).build;
    } catch (error) {
      if (!(error instanceof ServiceAnswerError) || error.status !== 404) throw error;
    }
  }
  throw new AopsError(`There is no revision ${id}.`, {
    code: 'revision_not_found',
    exit: exitCodes.notFound,
    hint: 'See the revisions of an agent with `aops revisions list AGENT`.',
  });
}
