/** Changes evaluation rubrics, each within a transaction of the caller. */

import { ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { insertRubric, listRubrics, type RubricScope, updateRubricRow } from '../../store/agents/rubrics.ts';
import type { Queries } from '../../store/database/database.ts';
import type { RubricRow } from '../../store/database/schema.ts';

/** Maximum number of rubrics that an agent, or a revision, can have. */
export const maxRubrics = 100;

export interface RubricDraft {
  title: string;
  description: string;
}

/** Adds a rubric. Throws 409 `rubric_exists` if another one has the title, 400 `too_many_rubrics`. */
export async function createRubric(trx: Queries, scope: RubricScope, draft: RubricDraft, now: string): Promise<RubricRow> {
  const existingRubrics = await listRubrics(trx, scope);
  requireFreeTitle(existingRubrics, draft.title);
  if (existingRubrics.length >= maxRubrics) throw tooMany();
  return insert(trx, scope, draft, {
    slug: freeSlug(draft.title, existingRubrics),
    sortOrder: (existingRubrics.at(-1)?.sort_order ?? 0) + 1,
    now,
  });
}

/** Changes a rubric. It keeps its slug, which results refer to. Throws 409 `rubric_exists` if another one has the title. */
export async function updateRubric(trx: Queries, rubric: RubricRow, changes: Partial<RubricDraft>, now: string): Promise<RubricRow> {
  const { title = rubric.title, description = rubric.description } = changes;
  if (titleKey(title) !== titleKey(rubric.title)) {
    const allRubrics = await listRubrics(trx, { agentId: rubric.agent_id, buildId: rubric.build_id });
    requireFreeTitle(allRubrics, title);
  }
  return updateRubricRow(trx, rubric.id, { title, description, updated_at: now });
}

/** Replaces all rubrics by these, in this order. A rubric with the same title is kept. Throws 400 `rubric_repeated`. */
export async function replaceRubrics(trx: Queries, scope: RubricScope, drafts: readonly RubricDraft[], now: string): Promise<RubricRow[]> {
  const keys = drafts.map(({ title }) => titleKey(title));
  const repeatedIndex = keys.findIndex((key, index) => keys.indexOf(key) < index);
  if (repeatedIndex >= 0) {
    throw new ServiceError(400, 'rubric_repeated', `Two rubrics have the title "${drafts[repeatedIndex]?.title}".`, {
      details: [{ path: `rubrics.${repeatedIndex}.title`, message: 'appears twice' }],
    });
  }
  const byKey = new Map<string, RubricRow>();
  for (const row of await listRubrics(trx, scope)) {
    const key = titleKey(row.title);
    if (keys.includes(key) && !byKey.has(key)) byKey.set(key, row);
    else await updateRubricRow(trx, row.id, { deleted_at: now, updated_at: now });
  }
  const rubrics = [...byKey.values()];
  for (const [index, draft] of drafts.entries()) {
    const row = byKey.get(keys[index] as string);
    if (row === undefined)
      rubrics.push(await insert(trx, scope, draft, { slug: freeSlug(draft.title, rubrics), sortOrder: index + 1, now }));
    else await updateRubricRow(trx, row.id, { ...draft, sort_order: index + 1, updated_at: now });
  }
  return listRubrics(trx, scope);
}

function requireFreeTitle(existingRubrics: readonly RubricRow[], title: string): void {
  const match = existingRubrics.find((rubric) => titleKey(rubric.title) === titleKey(title));
  if (match !== undefined) throw new ServiceError(409, 'rubric_exists', `There is already a rubric "${match.title}" (${match.id}).`);
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

const tooMany = (): ServiceError => new ServiceError(400, 'too_many_rubrics', `There can be at most ${maxRubrics} rubrics.`);

/** The key by which titles are compared, and with which slugs begin: `No tool call failed!` -> `no-tool-call-failed`. */
function titleKey(title: string): string {
  const words =
    title
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length > 0 ? words.join('-') : title.trim();
}

/** The slug of a new rubric. Renamed rubrics still occupy their first one. */
function freeSlug(title: string, existingRubrics: readonly RubricRow[]): string {
  const [first, slugs] = [titleKey(title), new Set(existingRubrics.map(({ slug }) => slug))];
  let slug = first;
  for (let number = 2; slugs.has(slug); number += 1) slug = `${first}-${number}`;
  return slug;
}
