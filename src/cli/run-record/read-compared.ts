/** Reads a run with everything that comparisons need: its record, and what it did step by step. */
import type { Context } from '../kit/context.ts';
import type { ComparedRun } from './compare.ts';
import { digestOf } from './digest.ts';
import { recordHead } from './head.ts';
import { runMessages } from './messages.ts';
import { readRunRecord } from './read.ts';

/** @throws AopsError `run_not_found` and other errors of names */
export async function readComparedRun(context: Context, name: string): Promise<ComparedRun> {
  const record = await readRunRecord(context, name);
  const client = await context.client();
  const [head, digest] = await Promise.all([recordHead(record), digestOf(runMessages(client, record.run.id), record.requests)]);
  return { record, head, digest };
}

/** A run as a comparison names it. */
export const comparedName = ({ head: { run } }: ComparedRun): { id: string; number: number | null; status: string } => ({
  id: run.id,
  number: run.number,
  status: run.status,
});
