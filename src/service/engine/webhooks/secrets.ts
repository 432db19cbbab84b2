/** The signing secret of a team. After a rotation, the old and the new one both sign for a while, the new one first. */
import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import type { Queries } from '../../store/database/database.ts';
import type { WebhookSecretRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { dropExpiredSecrets, expireCurrentSecret, insertSecret, validSecrets } from '../../store/webhooks/webhooks.ts';
import type { HasClock, HasStore } from '../engine.ts';

/** For how many seconds the old secret continues to sign by default: 24 hours. */
const defaultOverlap = 24 * 60 * 60;

export interface TeamSecrets {
  current: WebhookSecretRow;
  /** The previous one, as long as it still signs. */
  previous: WebhookSecretRow | undefined;
}

/** The secrets of a team. The first one is created on the first call. */
export async function teamSecrets(engine: HasStore & HasClock, teamId: string): Promise<TeamSecrets> {
  const now = engine.clock.now();
  const [current, previous] = await validSecrets(engine.store, teamId, now);
  if (current !== undefined && current.expires_at === null) return { current, previous };
  return engine.store.transaction().execute(async (trx) => {
    // A concurrent call might have created it in the meantime.
    const [current, previous] = await validSecrets(trx, teamId, now);
    if (current !== undefined && current.expires_at === null) return { current, previous };
    return { current: await newSecret(trx, teamId, now), previous: current };
  });
}

/**
 * Replaces the secret; the old one signs for another `overlapSeconds`. Throws 409 `secret_rotation_in_progress` if the secret
 * before that still signs, unless it is forced to end immediately.
 */
export async function rotateSecret(
  engine: HasStore & HasClock,
  teamId: string,
  { overlapSeconds = defaultOverlap, force = false }: { overlapSeconds?: number | undefined; force?: boolean | undefined },
): Promise<TeamSecrets> {
  const now = engine.clock.now();
  return engine.store.transaction().execute(async (trx) => {
    const [current, previous] = await validSecrets(trx, teamId, now);
    if (previous !== undefined && !force) {
      throw new ServiceError(
        409,
        'secret_rotation_in_progress',
        `The secret was rotated recently, and the previous one signs until ${isoTime(Number(previous.expires_at))}. Wait until then, or force it to end now.`,
      );
    }
    await dropExpiredSecrets(trx, teamId);
    if (overlapSeconds > 0) await expireCurrentSecret(trx, teamId, now + overlapSeconds * 1_000);
    else await expireAndDrop(trx, teamId, now);
    const rotatedSecret =
      overlapSeconds > 0 && current !== undefined ? { ...current, expires_at: now + overlapSeconds * 1_000 } : undefined;
    return { current: await newSecret(trx, teamId, now), previous: rotatedSecret };
  });
}

async function expireAndDrop(trx: Queries, teamId: string, now: number): Promise<void> {
  await expireCurrentSecret(trx, teamId, now);
  await dropExpiredSecrets(trx, teamId);
}

/** 32 bytes: Standard Webhooks requires 24 to 64. */
const newSecret = (trx: Queries, teamId: string, now: number): Promise<WebhookSecretRow> =>
  insertSecret(trx, {
    id: newId(),
    team_id: teamId,
    secret: `whsec_${randomBytes(32).toString('base64')}`,
    created_at: isoTime(now),
    expires_at: null,
  });
