/** Texts for people: sanitised content, times, sizes, and statuses. */
import { el } from './dom.js';

/** Characters that hide adjacent text or reverse its direction. */
const deceptiveCharacters = /(?![\t\n])\p{Cc}|[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
/** Those of them that no language needs. */
const overrideCharacters = /(?![\t\n])\p{Cc}|[\u202a-\u202e]/gu;

/** @param {string} character */
const escapeCharacter = (character) => `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** The name of a file, a tool, or an option, on one line. It cannot imitate another name. @param {string} text */
export const nameText = (text) => text.replace(deceptiveCharacters, escapeCharacter).replaceAll('\n', '⏎');

/** Text by an agent or a person, at its full length. @param {string} text */
export const proseText = (text) => text.replaceAll('\r\n', '\n').replace(overrideCharacters, escapeCharacter);

/** A name whose text direction does not affect its surroundings. @param {string} text @param {string} [className] */
export const name = (text, className) => el('bdi', { class: className }, nameText(text));

/** A JSON value, indented. @param {unknown} value */
export const json = (value) => proseText(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''));

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });
/** @type {readonly [Intl.RelativeTimeFormatUnit, number][]} */
const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** `3 minutes ago`. @param {number} time milliseconds @param {number} [now] */
export function ago(time, now = Date.now()) {
  const seconds = Math.round((time - now) / 1_000);
  for (const [unit, size] of units) if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  return Math.abs(seconds) < 10 ? 'just now' : relative.format(seconds, 'second');
}

/** A relative time, with the exact time as a tooltip. It is updated automatically. @param {string | null | undefined} iso */
export function moment(iso) {
  const time = Date.parse(iso ?? '');
  if (!Number.isFinite(time)) return el('span', {}, '–');
  return el('time', { datetime: new Date(time).toISOString(), title: new Date(time).toLocaleString() }, ago(time));
}

/** `12 min`: how long something has been so, without seconds. @param {number} milliseconds */
const age = (milliseconds) =>
  milliseconds < 60_000 ? 'less than 1 min' : took(milliseconds - (milliseconds % 60_000)).replace(' 0 s', '');

/**
 * `waiting for 12 min`, with the exact time as a tooltip. It is updated automatically.
 * @param {string} word @param {string | null | undefined} iso
 */
export function since(word, iso) {
  const time = Date.parse(iso ?? '');
  if (!Number.isFinite(time)) return el('span', {}, word);
  const attributes = { datetime: new Date(time).toISOString(), title: new Date(time).toLocaleString(), 'data-age': true };
  return el('span', {}, `${word} for `, el('time', attributes, age(Date.now() - time)));
}

/** Updates all relative times. */
export function refreshMoments() {
  for (const element of document.querySelectorAll('time')) {
    const time = Date.parse(element.dateTime);
    const text = element.dataset.age === undefined ? ago(time) : age(Date.now() - time);
    if (element.textContent !== text) element.textContent = text;
  }
}

/** `1 min 20 s`. @param {number} milliseconds */
export function took(milliseconds) {
  const seconds = milliseconds / 1_000;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`;
}

/** Time between two points in time, if both are known. @param {string | null | undefined} start @param {string | null | undefined} end */
export function between(start, end) {
  const milliseconds = Date.parse(end ?? '') - Date.parse(start ?? '');
  return Number.isFinite(milliseconds) && milliseconds >= 0 ? took(milliseconds) : undefined;
}

/** `$0.12`, or the amount with the name of a currency that browsers do not know. @param {{ amount: number, currency: string }} cost */
export function money({ amount, currency }) {
  try {
    return new Intl.NumberFormat('en', { style: 'currency', currency, maximumFractionDigits: amount < 1 ? 4 : 2 }).format(amount);
  } catch {
    return nameText(`${amount} ${currency}`);
  }
}

/** `1.4 MB`. @param {number} bytes */
export function size(bytes) {
  if (bytes < 1_000) return `${bytes} B`;
  const steps = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let step = -1;
  while (value >= 999.5 && step < steps.length - 1) {
    value /= 1_000;
    step += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${steps[step]}`;
}

/** `1 run`, `3 runs`. @param {number} count @param {string} noun */
export const countText = (count, noun) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

/** @type {Record<string, [label: string, kind: string]>} */
const statuses = {
  not_started: ['Not started', 'idle'],
  pending: ['Queued', 'idle'],
  starting: ['Starting', 'going'],
  running: ['Running', 'going'],
  waiting: ['Waiting for you', 'waiting'],
  completed: ['Completed', 'done'],
  failed: ['Failed', 'failed'],
  interrupted: ['Stopped', 'stopped'],
};

/** @type {Record<string, [label: string, kind: string]>} */
const caseStatuses = {
  pending: ['Pending', 'idle'],
  in_progress: ['In progress', 'going'],
  needs_input: ['Waiting for you', 'waiting'],
  postponed: ['Postponed', 'idle'],
  completed: ['Completed', 'done'],
  failed: ['Failed', 'failed'],
};

/** The displayed status of a case as a word with a dot. @param {string} status */
export function caseMark(status) {
  const [label, kind] = caseStatuses[status] ?? [nameText(status), 'idle'];
  return el('span', { class: `status ${kind}` }, label);
}

/** Whether a status means that the run has ended. @param {string} status */
export const isFinal = (status) => ['completed', 'failed', 'interrupted'].includes(status);

/** A status as a word with a dot. @param {string} status */
export function statusMark(status) {
  const [label, kind] = statuses[status] ?? [nameText(status), 'idle'];
  return el('span', { class: `status ${kind}` }, label);
}
