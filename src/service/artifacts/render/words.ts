/** Figures, times, and statuses as pages show them. Pure. */
import { Html, html } from '../../../base/html.ts';

/** `1,234` */
export const amount = (value: number): string => value.toLocaleString('en-US');

/** `2026-07-18 09:00`, with the instant in machine-readable form. */
export const moment = (iso: string): Html => html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')}</time>`;

/** The label of a bucket. An hour is shown with minutes: `2026-07-18 09:00`. */
export const bucket = (label: string): string => (/^\d{4}-\d\d-\d\dT\d\d$/.test(label) ? `${label.replace('T', ' ')}:00` : label);

const goodStatuses = new Set(['completed', 'delivered', 'answered']);
const badStatuses = new Set(['failed', 'interrupted', 'cancelled', 'withdrawn']);

/** A status in its colour. The word alone is sufficient to understand it. */
export const status = (word: string): Html => {
  const kind = goodStatuses.has(word) ? 'good' : badStatuses.has(word) ? 'bad' : 'going';
  return html`<span class="status ${kind}">${word.replaceAll('_', ' ')}</span>`;
};

export const join = (parts: readonly Html[]): Html => new Html(parts.map(({ text }) => text).join(''));
