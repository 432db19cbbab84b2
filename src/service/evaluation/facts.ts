/** The facts by which a run can be judged. All of them are from its latest turn, except for the files, which are current. */
import { ServiceError } from '../errors.ts';
import type { SandboxFiles } from '../sandbox/sandbox-files.ts';
import { findMemoryFile } from '../store/agents/memory-files.ts';
import { anyRubric } from '../store/agents/rubrics.ts';
import type { Queries } from '../store/database/database.ts';
import { preparedQuery } from '../store/database/prepared.ts';
import type { MessageRow, RunRow } from '../store/database/schema.ts';

/** The number of bytes of a file that are examined. */
const fileLimit = 1024 * 1024;

/** The text of a file, `missing`, or why the content is unknown. */
export type FileFinding = { text: string; size: number } | 'missing' | { unknown: string };

export interface Facts {
  status: RunRow['status'];
  error: string | null;
  /** Milliseconds from the start of the turn to its end; undefined when it never started. */
  duration: number | undefined;
  /** The agent's messages, oldest first. */
  messages: string[];
  calls: { name: string; error: string | undefined }[];
  requests: { title: string; decision: 'approved' | 'denied' | 'answered' | 'none' }[];
  file(path: string): Promise<FileFinding>;
  memoryFile(path: string): Promise<FileFinding>;
}

/** Reads the facts of a run that has ended. @param openSandbox resolves to undefined if its files were removed */
export async function readFacts(db: Queries, run: RunRow, openSandbox: () => Promise<SandboxFiles | undefined>): Promise<Facts> {
  const rows = await db
    .selectFrom('messages')
    .select(['role', 'text_content', 'tool_call', 'tool_result', 'timestamp'])
    .where('run_id', '=', run.id)
    .where('turn', '=', run.turn)
    .orderBy('seq')
    .execute();
  // A message that resumed a run began its turn; the run itself was started before that.
  const startTime = run.turn === 1 ? run.started_at : (rows[0]?.timestamp ?? null);
  const endTime = run.completed_at;
  return {
    status: run.status,
    error: run.error,
    duration: startTime === null || endTime === null ? undefined : Math.max(0, Date.parse(endTime) - Date.parse(startTime)),
    messages: rows.flatMap(({ role, text_content: text }) => (role === 'assistant' && text !== null ? [text] : [])),
    calls: callsIn(rows),
    requests: await readRequests(db, run),
    file: async (path) => readFile(await openSandbox(), path),
    async memoryFile(path) {
      const file = await findMemoryFile(db, run.agent_id, path);
      return file === undefined ? 'missing' : { text: file.content, size: file.size };
    },
  };
}

/**
 * The facts that the rubrics of the platform are about, for the transaction in which a run ends, and whether it has rubrics of its own.
 * What there is to read is asked in one query, because most runs have nothing of it.
 */
export async function readPlatformFacts(trx: Queries, run: RunRow): Promise<{ hasRubrics: boolean; facts: Facts }> {
  const { status, error, id, turn, agent_id, build_id } = run;
  const found = await evidence.only(trx, { id, turn, agent_id, build_id });
  const [rows, requests] = await Promise.all([
    found.has_calls ? callRows.all(trx, { id, turn }) : [],
    found.has_requests ? readRequests(trx, run) : [],
  ]);
  const unread = async (): Promise<FileFinding> => ({ unknown: 'it was not read' });
  const facts = { status, error, calls: callsIn(rows), requests, duration: undefined, messages: [], file: unread, memoryFile: unread };
  return { hasRubrics: Boolean(found.has_rubrics), facts };
}

const evidence = preparedQuery((db, run: Turn & Pick<RunRow, 'agent_id' | 'build_id'>) =>
  db.selectNoFrom((select) => [
    select.exists(anyRubric(db, run)).as('has_rubrics'),
    select.exists(callsOf(db, run)).as('has_calls'),
    select.exists(requestsOf(db, run)).as('has_requests'),
  ]),
);

type Turn = Pick<RunRow, 'id' | 'turn'>;

const callsOf = (db: Queries, { id, turn }: Turn) =>
  db
    .selectFrom('messages')
    .select(['tool_call', 'tool_result'])
    .where('run_id', '=', id)
    .where('turn', '=', turn)
    .where('type', 'in', ['tool_call', 'tool_result']);

const callRows = preparedQuery((db, turn: Turn) => callsOf(db, turn).orderBy('seq'));

function callsIn(rows: readonly Pick<MessageRow, 'tool_call' | 'tool_result'>[]): Facts['calls'] {
  const calls = new Map<string, Facts['calls'][number]>();
  for (const { tool_call, tool_result } of rows) {
    if (tool_call !== null) {
      const { id, name } = JSON.parse(tool_call) as { id: string; name: string };
      calls.set(id, { name, error: undefined });
    } else if (tool_result !== null) {
      const { tool_call_id: id, error } = JSON.parse(tool_result) as { tool_call_id: string; error?: string };
      const call = calls.get(id);
      if (call !== undefined) call.error = error;
    }
  }
  return [...calls.values()];
}

const readRequests = async (db: Queries, { id, turn }: Turn): Promise<Facts['requests']> =>
  (await requestRows.all(db, { id, turn })).map(({ title, answer }) => ({ title, decision: decisionOf(answer) }));

const requestsOf = (db: Queries, { id, turn }: Turn) =>
  db.selectFrom('human_requests').select(['title', 'answer']).where('run_id', '=', id).where('turn', '=', turn);

const requestRows = preparedQuery((db, turn: Turn) => requestsOf(db, turn).orderBy('created_at'));

function decisionOf(answer: string | null): Facts['requests'][number]['decision'] {
  if (answer === null) return 'none';
  const { type, approved } = JSON.parse(answer) as { type: string; approved?: boolean };
  return type === 'approval' ? (approved ? 'approved' : 'denied') : 'answered';
}

async function readFile(sandbox: SandboxFiles | undefined, path: string): Promise<FileFinding> {
  if (sandbox === undefined) return { unknown: 'the files of the run have been removed' };
  try {
    const { entry, bytes, truncated } = await sandbox.read(path, fileLimit);
    if (truncated) return { unknown: `the file ${entry.path} is larger than 1 MiB` };
    return { text: bytes.toString('utf8'), size: entry.size };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.error === 'file_not_found' ? 'missing' : { unknown: error.message };
  }
}
