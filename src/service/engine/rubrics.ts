/** Changing evaluation rubrics, each within a transaction of the caller. */

import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Queries } from '../store/database.ts';
import { insertRubric, listRubrics, type RubricScope, updateRubricRow } from '../store/rubrics.ts';
import type { RubricRow } from '../store/schema.ts';

/** Rubrics that an agent, or a revision, may have. */
export const mostRubrics = 100;

export interface RubricDraft {
  title: string;
  description: string;
}

/** Throws 409 `rubric_exists` for a title that another one has, 400 `too_many_rubrics`. */
export async function createRubric(trx: Queries, scope: RubricScope, draft: RubricDraft, now: string): Promise<RubricRow> {
  const others = await listRubrics(trx, scope);
  const slug = slugOf(draft.title);
  const same = others.find((other) => other.slug === slug);
  if (same !== undefined) throw new ServiceError(409, 'rubric_exists', `There is a rubric "${same.title}" already (${same.id}).`);
  if (others.length >= mostRubrics) throw tooMany();
  return insert(trx, scope, draft, { slug, sortOrder: (others.at(-1)?.sort_order ?? 0) + 1, now });
}

/** Makes these the rubrics, in this order. One whose title stays is the same one. Throws 400 `rubric_repeated`, 400 `too_many_rubrics`. */
export async function replaceRubrics(trx: Queries, scope: RubricScope, drafts: readonly RubricDraft[], now: string): Promise<RubricRow[]> {
  if (drafts.length > mostRubrics) throw tooMany();
  const slugs = drafts.map(({ title }) => slugOf(title));
  const repeated = slugs.findIndex((slug, index) => slugs.indexOf(slug) < index);
  if (repeated >= 0) {
    throw new ServiceError(400, 'rubric_repeated', `Two rubrics have the title "${drafts[repeated]?.title}".`, {
      details: [{ path: `rubrics.${repeated}.title`, message: 'is there twice' }],
    });
  }
  const before = new Map((await listRubrics(trx, scope)).map((row) => [row.slug, row]));
  for (const [slug, row] of before) if (!slugs.includes(slug)) await updateRubricRow(trx, row.id, { deleted_at: now, updated_at: now });
  for (const [index, draft] of drafts.entries()) {
    const [slug, sort_order] = [slugs[index] as string, index + 1];
    const row = before.get(slug);
    if (row === undefined) await insert(trx, scope, draft, { slug, sortOrder: sort_order, now });
    else await updateRubricRow(trx, row.id, { ...draft, sort_order, updated_at: now });
  }
  return listRubrics(trx, scope);
}

const insert = (
  trx: Queries,
  scope: RubricScope,
  draft: RubricDraft,
  { slug, sortOrder, now }: { slug: string; sortOrder: number; now: string },
) =>
  insertRubric(trx, {
    id: newId(),
    agent_id: scope.agentId,
    build_id: scope.buildId,
    slug,
    title: draft.title,
    description: draft.description,
    sort_order: sortOrder,
    created_at: now,
    updated_at: now,
    deleted_at: null,
  });

const tooMany = (): ServiceError => new ServiceError(400, 'too_many_rubrics', `${mostRubrics} rubrics are the most.`);

/** `No tool call failed!` -> `no-tool-call-failed`. */
function slugOf(title: string): string {
  const words =
    title
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length > 0 ? words.join('-') : title.trim();
}
