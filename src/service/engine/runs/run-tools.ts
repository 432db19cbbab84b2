/** What the tools of a run's agent do: they use the same functions as the steps of procedures, and are journalled like these. */
import { notFound } from '../../errors.ts';
import type { RunArtifact, RunCase, RunTools, ToolAction, ToolUse } from '../../runtimes/run-host.ts';
import { listArtifactMessageRows } from '../../store/artifacts/artifact-messages.ts';
import { findArtifact } from '../../store/artifacts/artifacts.ts';
import type { Queries } from '../../store/database/database.ts';
import type { ArtifactRow, RunRow } from '../../store/database/schema.ts';
import { recordStep } from '../../store/runs/journal.ts';
import { runById } from '../../store/runs/runs.ts';
import type { Reader } from '../artifacts/access.ts';
import { createForRun, messageForRun, type Question } from '../artifacts/generation.ts';
import { carryOut, caseOfRun } from '../cases/run-actions.ts';
import type { HasClock, HasStore, HasWorker } from '../engine.ts';
import { readMemory, remember } from '../revision/memory.ts';

type ToolsEngine = HasStore & HasClock & HasWorker;

export interface ToolsParts {
  engine: ToolsEngine;
  row: RunRow;
  /** Writes a notice, and what else belongs to it, in one transaction. Throws if the run is no longer executed here. */
  record: (notice: { id: string; text: string }, alsoWrite: (trx: Queries, now: string) => Promise<void>) => Promise<void>;
  /** Replaces the secrets of the agent, which it might pass on. */
  redact: <T>(value: T) => T;
  /** Called with each new entry of the journal. */
  onEntry: (step: string, entry: unknown) => void;
}

export function runTools({ engine, row, record, redact, onEntry }: ToolsParts): RunTools {
  return {
    currentCase: (): Promise<RunCase | undefined> => caseOfRun(engine.store, row),
    memory: () => readMemory(engine.store, row),
    artifact: async (id) => artifactOf(engine.store, await requireOwnArtifact(engine.store, row, id)),
    async perform(step: string, use: ToolUse, action: ToolAction, text: string) {
      let result: object = {};
      await record({ id: step, text }, async (trx, now) => {
        result = await performIn(engine, trx, row, redact(action), now);
        await recordStep(trx, { runId: row.id, turn: row.turn, step }, { ...use, result }, now);
      });
      onEntry(step, { ...use, result });
      // There may be a case to dispatch, or a page to generate.
      engine.worker.wake();
      return result as Record<string, unknown>;
    },
  };
}

async function performIn(engine: HasClock, trx: Queries, run: RunRow, action: ToolAction, now: string): Promise<object> {
  const reader: Reader = { teamId: run.team_id, credentialId: run.id, isOwner: false };
  switch (action.do) {
    case 'remember': {
      const { path } = action.write;
      return { path, bytes: Buffer.byteLength(await remember(trx, run, action.write, now)) };
    }
    case 'create_artifact':
      return artifactOf(trx, await createForRun(engine, trx, reader, action.message));
    case 'change_artifact':
      return artifactOf(trx, await messageForRun(engine, trx, reader, await requireOwnArtifact(trx, run, action.id), action.message));
    default:
      return carryOut(engine, trx, run, action);
  }
}

/** An artifact that this or another run of the same agent created. Throws 404 `artifact_not_found`. */
async function requireOwnArtifact(db: Queries, run: RunRow, id: string): Promise<ArtifactRow> {
  const artifact = await findArtifact(db, run.team_id, id);
  const creator = artifact === undefined ? undefined : await runById(db, artifact.created_by);
  if (artifact === undefined || creator?.agent_id !== run.agent_id) throw notFound('artifact', id);
  return artifact;
}

async function artifactOf(db: Queries, { id, title, status, question }: ArtifactRow): Promise<RunArtifact> {
  const { rows } = await listArtifactMessageRows(db, id, { limit: 1, before: undefined });
  const [last] = rows;
  const { questions } = question === null ? { questions: [] } : (JSON.parse(question) as Question);
  return {
    ...{ id, title, status },
    reply: last?.role === 'assistant' ? last.content : null,
    questions: questions.map((entry) => entry.question),
  };
}
