/** Labels in the form that people write and read: `vendor=acme`, or `urgent` for a label without a key. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { type FetchPage, pagedRows } from '../../client/paging.ts';
import type { Label, QueueLabel } from '../../interface/types.ts';
import { type Check, isUuid } from '../kit/checks.ts';
import type { Context } from '../kit/context.ts';

export const labelText = ({ key, value }: Pick<Label, 'key' | 'value'>): string => (key === '' ? value : `${key}=${value}`);

/** Checks the text form of a label; its value must not be empty. */
export const labelForm: Check = (value, name) => {
  if (readLabel(value).value !== '') return value;
  throw new UsageError(`${name} must be a label such as vendor=acme or urgent, not "${value}".`);
};

/** The key and value of a label, separated by the first `=`. */
export function readLabel(text: string): { key?: string; value: string } {
  const separator = text.indexOf('=');
  return separator < 0 ? { value: text } : { key: text.slice(0, separator), value: text.slice(separator + 1) };
}

/**
 * A label of a queue, by ID or in its text form.
 * @throws AopsError `label_not_found` (exit 3)
 */
export async function findLabel(context: Context, queueId: string, text: string): Promise<QueueLabel> {
  const labels = await queueLabels(context, queueId);
  const { key = '', value } = readLabel(text);
  const match = labels.find((label) => (isUuid(text) ? label.id === text.toLowerCase() : label.key === key && label.value === value));
  if (match !== undefined) return match;
  const similar = nearest(text, labels.map(labelText));
  throw new AopsError(`The queue has no label "${text}".`, {
    code: 'label_not_found',
    exit: exitCodes.notFound,
    hint: similar === undefined ? 'See its labels with `aops queues labels list QUEUE`.' : `Did you mean ${similar}?`,
  });
}

/** All labels of a queue. */
export async function queueLabels(context: Context, queueId: string): Promise<QueueLabel[]> {
  const labels: QueueLabel[] = [];
  for await (const label of pagedRows(await labelPages(context, queueId), pageSize)) labels.push(label);
  return labels;
}

export const pageSize = 1_000;

/** The interface does not report the total of labels: a full page may be followed by another one. */
export async function labelPages(context: Context, queueId: string): Promise<FetchPage<QueueLabel>> {
  const client = await context.client();
  return async (limit, offset) => {
    const { labels } = await client.call('listQueueLabels', { params: { queue_id: queueId }, query: { limit, offset } });
    return { items: labels, total: offset + labels.length + (labels.length === limit ? 1 : 0), isUncounted: true };
  };
}

export const labelRecord = (label: Label | QueueLabel) => ({
  ID: label.id,
  Key: label.key,
  Value: label.value,
  'Colour hue': label.color_hue,
  Cases: 'case_count' in label ? label.case_count : undefined,
});
