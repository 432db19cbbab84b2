/** Where the nodes of a database store files: all of them must use the same place. */
import { AopsError, exitCodes } from '../../../base/errors.ts';
import type { Queries } from '../database/database.ts';
import { nodeSilence } from '../database/node-silence.ts';
import { lockName } from '../database/row-locks.ts';
import { touchSetting } from '../database/settings.ts';

/** A place, without secrets. */
export interface FilePlace {
  /** Differs for different places. */
  id: string;
  inWords: string;
}

const setting = 'file_place';

/**
 * Makes sure, in the transaction that adds a node, that nodes that are alive store files in the same place. Without any, the place may
 * change.
 * @param now milliseconds
 * @throws AopsError `file_store_mismatch`
 */
export async function requireFilePlace(trx: Queries, place: FilePlace, now: number): Promise<void> {
  await lockName(trx, setting);
  const row = await trx.selectFrom('settings').select('value').where('name', '=', setting).executeTakeFirst();
  const current = row === undefined ? undefined : (JSON.parse(row.value) as FilePlace);
  if (current?.id === place.id) return;
  const others = await trx
    .selectFrom('nodes')
    .select('name')
    .where('seen_at', '>', now - nodeSilence)
    .orderBy('name')
    .execute();
  if (current !== undefined && others.length > 0) throw mismatch(current, place, [...new Set(others.map(({ name }) => name))]);
  await touchSetting(trx, setting, JSON.stringify(place));
}

const mismatch = (current: FilePlace, place: FilePlace, names: readonly string[]): AopsError =>
  new AopsError(
    `This node would store files in ${place.inWords}, but other nodes (${names.join(', ')}) store them in ${
      current.inWords === place.inWords ? `another place that is called ${current.inWords} on their machines` : current.inWords
    }.`,
    {
      code: 'file_store_mismatch',
      exit: exitCodes.conflict,
      hint: 'Use the same --file-store for all nodes. To change it, stop all of them, and copy the files.',
    },
  );
