/** The memory of agents: small texts that are written by their runs and read by later ones. */
import { ServiceError } from '../../errors.ts';
import type { MemoryWrite } from '../../runtimes/run-host.ts';
import { countMemoryFiles, findMemoryFile, memoryTexts, putMemoryFile } from '../../store/agents/memory-files.ts';
import type { Queries } from '../../store/database/database.ts';
import { lockRows } from '../../store/database/row-locks.ts';
import type { RunRow } from '../../store/database/schema.ts';

/** Limits of an agent's memory: files, bytes of each, characters of a path. */
export const memoryLimits = { files: 200, fileBytes: 256 * 1024, path: 255 } as const;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this searches for
const invalidCharacter = /[\u0000-\u001f\u007f-\u009f\\]/;

/** The memory files of a run's agent, by path; empty if its memory is turned off. */
export async function readMemory(db: Queries, run: RunRow): Promise<Map<string, string>> {
  return (await remembers(db, run.agent_id)) ? memoryTexts(db, run.agent_id) : new Map();
}

/**
 * Writes a memory file in the transaction of the step that does it, and returns its whole content. Throws 403 `memory_off`,
 * 400 `invalid_memory_path`, 413 `memory_file_too_large`, 409 `memory_full`.
 */
export async function remember(trx: Queries, run: RunRow, { path, content, append }: MemoryWrite, now: string): Promise<string> {
  if (!(await remembers(trx, run.agent_id)))
    throw new ServiceError(
      403,
      'memory_off',
      'The memory of this agent is turned off. Turn it on with `aops agents update AGENT --memory`.',
    );
  checkPath(path);
  // Other runs of the agent can write to the same file.
  await lockRows(trx, 'agents', [run.agent_id]);
  const before = await findMemoryFile(trx, run.agent_id, path);
  const newContent = append && before !== undefined ? appendText(before.content, content) : content;
  const size = Buffer.byteLength(newContent);
  if (size > memoryLimits.fileBytes)
    throw new ServiceError(
      413,
      'memory_file_too_large',
      `The memory file ${path} would have ${size} bytes; the limit is ${memoryLimits.fileBytes}.`,
    );
  if (before === undefined && (await countMemoryFiles(trx, run.agent_id)) >= memoryLimits.files)
    throw new ServiceError(409, 'memory_full', `The agent already has ${memoryLimits.files} memory files, which is the limit.`);
  const source = { source_type: 'job', source_run_id: run.id, source_user_id: null } as const;
  await putMemoryFile(trx, { agent_id: run.agent_id, path, content: newContent, size, ...source, updated_at: now });
  return newContent;
}

/** Appended text starts on a new line. */
const appendText = (before: string, more: string): string =>
  before === '' || before.endsWith('\n') ? before + more : `${before}\n${more}`;

async function remembers(db: Queries, agentId: string): Promise<boolean> {
  const agent = await db.selectFrom('agents').select('agentic_memory_enabled').where('id', '=', agentId).executeTakeFirst();
  return agent !== undefined && agent.agentic_memory_enabled !== 0;
}

function checkPath(path: string): void {
  const parts = path.split('/');
  if (
    path !== '' &&
    path.length <= memoryLimits.path &&
    !invalidCharacter.test(path) &&
    !parts.some((part) => part === '' || part === '.' || part === '..')
  )
    return;
  throw new ServiceError(
    400,
    'invalid_memory_path',
    `"${path}" is not a valid path for a memory file; use a relative one such as notes.md or suppliers/acme.md, with at most ${memoryLimits.path} characters.`,
  );
}
