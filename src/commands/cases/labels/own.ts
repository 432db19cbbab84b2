/** Reads and displays the labels of a case. */
import { AopsError, exitCodes } from '../../../base/errors.ts';
import { isUuid } from '../../../cli/kit/checks.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { column, idColumn } from '../../../cli/kit/output.ts';
import { labelText, readLabel } from '../../../cli/names/label.ts';
import type { Label } from '../../../interface/types.ts';

export const labelColumns = [
  idColumn((label: Label) => label.id),
  column('KEY', (label: Label) => label.key, { shrink: true }),
  column('VALUE', (label: Label) => label.value, { shrink: true }),
];

/** The labels of a case, and the path parameters to change them. */
export async function ownLabels(
  context: Context,
  caseId: string,
): Promise<{ params: { queue_id: string; case_id: string }; labels: Label[] }> {
  const client = await context.client();
  const { case: row } = await client.call('getCase', { params: { case_id: caseId } });
  const params = { queue_id: row.queue_id, case_id: row.id };
  return { params, labels: (await client.call('listCaseLabels', { params })).labels };
}

/** The labels specified by ID or as KEY=VALUE. @throws AopsError `label_not_found` (exit 3) */
export function chosenLabels(labels: readonly Label[], texts: readonly string[]): Label[] {
  return texts.map((text) => {
    const { key = '', value } = readLabel(text);
    const match = labels.find((label) => (isUuid(text) ? label.id === text.toLowerCase() : label.key === key && label.value === value));
    if (match !== undefined) return match;
    const has = labels.length === 0 ? 'It has no labels.' : `Its labels are: ${labels.map(labelText).join(', ')}`;
    throw new AopsError(`The case has no label "${text}".`, { code: 'label_not_found', exit: exitCodes.notFound, hint: has });
  });
}
