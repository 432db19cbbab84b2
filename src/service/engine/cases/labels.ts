/** Finds or creates labels of a queue. */
import { createHash } from 'node:crypto';
import { newId } from '../../ids.ts';
import { findLabelNamed, insertLabel } from '../../store/cases/labels.ts';
import type { Queries } from '../../store/database/database.ts';
import type { QueueLabelRow } from '../../store/database/schema.ts';

export interface LabelInput {
  key?: string | undefined;
  value: string;
  color_hue?: number | undefined;
}

/** The label of a queue with this key and value, created if it does not exist. An existing label keeps its colour. */
export async function ensureLabel(trx: Queries, queueId: string, label: LabelInput, now: string): Promise<QueueLabelRow> {
  const key = label.key ?? '';
  return (
    (await findLabelNamed(trx, queueId, key, label.value)) ??
    (await insertLabel(trx, {
      id: newId(),
      queue_id: queueId,
      key,
      value: label.value,
      color_hue: label.color_hue ?? hueOf(key, label.value),
      created_at: now,
    }))
  );
}

/** The same label has the same colour in every queue. */
const hueOf = (key: string, value: string): number => createHash('sha256').update(`${key}\n${value}`).digest().readUInt16BE(0) % 360;
