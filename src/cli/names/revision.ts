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
const revisionCheck =
  (advice = ''): Check =>
  (value, name) => {
    if (isUuid(value) || word.test(value.slice(value.lastIndexOf('@') + 1))) return value;
    throw new UsageError(`${name} must be a revision, not "${value}".`, `Use its ID, AGENT@live, AGENT@latest, or AGENT@3.${advice}`);
  };

/** An argument that names a revision. */
export const namedRevision = (summary: string) => argument(summary, { complete: 'revisions', check: revisionCheck() });
export const revisionArgument = namedRevision('The revision: its ID, or AGENT@live, AGENT@latest, AGENT@NUMBER');
/** A flag that names the revision to start from. */
export const copiedRevision = (summary: string) =>
  text('REVISION', summary, { complete: 'revisions', check: revisionCheck(' To use a procedure in a file, pass --procedure.') });
/** A flag that names a revision of the command's agent. */
export const revisionOfAgent = (summary: string) =>
  text('REVISION', `${summary}: its ID, live, latest, or its number`, { complete: 'revisions', check: revisionCheck() });
export const agentFlag = text('ID|NAME', 'The agent, if the revision is only live, latest, or a number', { complete: 'agents' });

type RevisionReference = { id: string } | { agent: string; version: string };

function parseReference(text: string, agent: string | undefined): RevisionReference {
  if (isUuid(text)) return { id: text.toLowerCase() };
  const separator = text.lastIndexOf('@');
  const version = text.slice(separator + 1);
  const owner = separator < 0 ? agent : text.slice(0, separator);
  if (word.test(version) && owner) return { agent: owner, version };
  throw new UsageError(`"${text}" does not say which agent the revision belongs to.`, `Write AGENT@${version}, or add --agent AGENT.`);
}

/** The ID of a revision. An ID is used without a request. @throws AopsError `revision_not_found` (exit 3) */
export async function revisionId(context: Context, text: string, agent?: string): Promise<string> {
  const reference = parseReference(text, agent);
  return 'id' in reference ? reference.id : (await pick(context, await agentId(context, reference.agent), reference.version)).id;
}

/** A revision with all its fields. @throws AopsError `revision_not_found` (exit 3) */
export async function findRevision(context: Context, text: string, agent?: string): Promise<Build> {
  const reference = parseReference(text, agent);
  if ('id' in reference) return byId(context, reference.id, agent);
  return pick(context, await agentId(context, reference.agent), reference.version);
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

async function pick(context: Context, agent: string, version: string): Promise<Build> {
  for await (const build of revisionsOf(context, agent)) {
    if (version === 'latest' || (version === 'live' && build.status === 'live') || String(build.revision_number) === version) return build;
  }
  const problem = version === 'live' ? 'no live revision' : version === 'latest' ? 'no revisions yet' : `no revision ${version}`;
  throw new AopsError(`The agent has ${problem}.`, {
    code: 'revision_not_found',
    exit: exitCodes.notFound,
    hint:
      version === 'latest'
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
