/** Labels of a queue, found by what they say or created. */
import { createHash } from 'node:crypto';
import { newId } from '../../ids.ts';
import { findLabelNamed, insertLabel } from '../../store/cases/labels.ts';
import type { Queries } from '../../store/database/database.ts';
import type { QueueLabelRow } from '../../store/database/schema.ts';

export interface GivenLabel {
  key?: string | undefined;
  value: string;
  color_hue?: number | undefined;
}

/** The label of the queue that says this; a new one when there is none. A label that is there keeps its colour. */
export async function ensureLabel(trx: Queries, queueId: string, given: GivenLabel, now: string): Promise<QueueLabelRow> {
  const key = given.key ?? '';
  return (
    (await findLabelNamed(trx, queueId, key, given.value)) ??
    (await insertLabel(trx, {
      id: newId(),
      queue_id: queueId,
      key,
      value: given.value,
      color_hue: given.color_hue ?? hueOf(key, given.value),
      created_at: now,
    }))
  );
}

/** The same label has the same colour in every queue. */
const hueOf = (key: string, value: string): number => createHash('sha256').update(`${key}\n${value}`).digest().readUInt16BE(0) % 360;
