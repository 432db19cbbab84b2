/**
 * The messages of a run, as they arrive. Each becomes an entry once and is not changed; new ones are added below, so nothing
 * flickers, no selection is lost, and the scroll position is kept. At the end of the page, the end stays in view.
 */

import { diffBlock } from './diff.js';
import { announce, el, fill, icon } from './dom.js';
import { between, json, moment, name, nameText, proseText } from './words.js';

/** @typedef {import('./types.d.ts').RunMessage} RunMessage */

/** Pixels from the end of the page that count as the end. */
const nearEnd = 140;
/** Characters of an entry before the rest is collapsed. */
const longText = 6_000;

export class Timeline {
  #list = el('ol', { class: 'timeline' });
  #earlierButton = el('button', { type: 'button', class: 'plain earlier', hidden: true });
  #jump = el('button', { type: 'button', class: 'jump', hidden: true, click: () => this.#toEnd() });
  #ids = new Set();
  /** @type {Map<string, { item: HTMLElement, mark: HTMLElement, outcome: HTMLElement, body: HTMLElement, call: RunMessage }>} */
  #calls = new Map();
  #unseenCount = 0;
  #lastUserMessage = { text: '', timestamp: '' };
  #onScroll = () => this.#isAtEnd() && this.#markSeen();

  /** @param {() => void} loadEarlier */
  constructor(loadEarlier) {
    this.#earlierButton.addEventListener('click', loadEarlier);
    this.element = el('div', { class: 'timeline-place' }, this.#earlierButton, this.#list, this.#jump);
    addEventListener('scroll', this.#onScroll, { passive: true });
  }

  close() {
    removeEventListener('scroll', this.#onScroll);
  }

  /** Whether it is still empty. */
  get isEmpty() {
    return this.#ids.size === 0;
  }

  /** A person's last message after a certain time. @param {string} moment ISO 8601 */
  hasMessageSince(moment) {
    const { text, timestamp } = this.#lastUserMessage;
    return Date.parse(timestamp) >= Date.parse(moment) ? text : undefined;
  }

  /** @param {number} count number of messages before the first one shown */
  setEarlier(count) {
    this.#earlierButton.hidden = count === 0;
    fill(this.#earlierButton, `Show ${Math.min(count, 100).toLocaleString('en')} of ${count.toLocaleString('en')} earlier messages`);
  }

  /**
   * Adds new messages at the end. `change` can add something below them before the page scrolls.
   * @param {readonly RunMessage[]} messages @param {{ quiet: boolean, toEnd?: boolean }} how quiet: they are not announced
   */
  append(messages, { quiet, toEnd = false }) {
    const newMessages = messages.filter(({ id }) => !this.#ids.has(id));
    if (newMessages.length === 0) return;
    const latest = newMessages.findLast(({ role }) => role === 'user');
    if (latest !== undefined) this.#lastUserMessage = { text: latest.text_content ?? '', timestamp: latest.timestamp };
    const follow = toEnd || (!quiet && this.#isAtEnd());
    for (const message of newMessages) {
      const entry = this.#entry(message);
      if (entry !== undefined) this.#list.append(entry);
    }
    if (follow) this.#toEnd();
    else if (!quiet) {
      this.#unseenCount += newMessages.length;
      this.#showJump();
    }
    const agentMessages = newMessages.filter(({ text_content: text, role }) => text && role === 'assistant');
    if (!quiet && agentMessages.length > 0)
      announce(
        `${agentMessages.length === 1 ? 'New message' : `${agentMessages.length} new messages`}: ${agentMessages.at(-1)?.text_content}`,
      );
  }

  /** Adds earlier messages; the visible part stays in view. @param {readonly RunMessage[]} messages */
  prepend(messages) {
    const before = document.documentElement.scrollHeight;
    const entries = messages.filter(({ id }) => !this.#ids.has(id)).map((message) => this.#entry(message));
    this.#list.prepend(...entries.filter((entry) => entry !== undefined));
    scrollBy({ top: document.documentElement.scrollHeight - before, behavior: 'instant' });
  }

  /** If the end is in view, keeps it in view while `change` makes the page longer. @param {() => void} change */
  keepEnd(change) {
    const follow = this.#isAtEnd();
    change();
    if (follow) this.#toEnd();
  }

  /** @param {RunMessage} message */
  #entry(message) {
    this.#ids.add(message.id);
    if (message.tool_result) return this.#result(message, message.tool_result);
    if (message.tool_call) return this.#call(message, message.tool_call);
    const [kind, who] = speakerOf(message);
    const text = proseText(message.text_content ?? message.type);
    return el(
      'li',
      { class: `said ${kind}` },
      el('p', { class: 'who' }, who, moment(message.timestamp)),
      ...(text.length <= longText
        ? [el('div', { class: 'prose', dir: 'auto' }, text)]
        : [
            el('div', { class: 'prose', dir: 'auto' }, `${text.slice(0, longText)}…`),
            el(
              'details',
              {},
              el('summary', {}, `All ${text.length.toLocaleString('en')} characters`),
              el('div', { class: 'prose', dir: 'auto' }, text),
            ),
          ]),
    );
  }

  /** @param {RunMessage} message @param {NonNullable<RunMessage['tool_call']>} call */
  #call(message, call) {
    const mark = el('span', { class: 'mark going' }, icon('dots'), el('span', { class: 'hidden' }, 'in progress'));
    const outcome = el('span', { class: 'outcome' });
    const body = el('div', { class: 'body' }, block('Arguments', call.arguments));
    const argumentText = argumentOf(call.arguments ?? {});
    const item = el(
      'li',
      { class: 'tool' },
      el(
        'details',
        {},
        el(
          'summary',
          {},
          mark,
          el(
            'span',
            { class: 'line' },
            name(call.name, 'tool-name'),
            argumentText === '' ? null : el('bdi', { class: 'telling' }, argumentText),
            outcome,
          ),
        ),
        body,
      ),
    );
    this.#calls.set(call.id, { item, mark, outcome, body, call: message });
    return item;
  }

  /** Adds a result to its call, which is already shown. @param {RunMessage} message @param {NonNullable<RunMessage['tool_result']>} result */
  #result(message, result) {
    const entry = this.#calls.get(result.tool_call_id);
    const hasFailed = result.error !== undefined;
    const summary = hasFailed ? nameText(result.error ?? '') : oneLine(result.result);
    if (entry === undefined) {
      return el(
        'li',
        { class: 'tool' },
        el(
          'details',
          {},
          el('summary', {}, 'Result', el('span', { class: 'outcome' }, summary)),
          el('div', { class: 'body' }, ...resultBlocks(result.error ?? result.result)),
        ),
      );
    }
    entry.item.classList.toggle('failed', hasFailed);
    entry.mark.className = `mark ${hasFailed ? 'failed' : 'done'}`;
    fill(entry.mark, icon(hasFailed ? 'cross' : 'check'), el('span', { class: 'hidden' }, hasFailed ? 'failed' : 'done'));
    fill(entry.outcome, summary);
    const duration = between(entry.call.timestamp, message.timestamp);
    entry.body.append(
      ...(hasFailed ? [block('Failed', result.error)] : resultBlocks(result.result)).map((each) => each ?? ''),
      duration === undefined ? '' : el('p', { class: 'quiet' }, `Took ${duration}`),
    );
    return undefined;
  }

  #isAtEnd() {
    const { scrollHeight } = document.documentElement;
    return scrollHeight - innerHeight - scrollY < nearEnd;
  }

  #toEnd() {
    this.#markSeen();
    scrollTo({ top: document.documentElement.scrollHeight });
  }

  #markSeen() {
    this.#unseenCount = 0;
    this.#showJump();
  }

  #showJump() {
    this.#jump.hidden = this.#unseenCount === 0;
    fill(this.#jump, icon('down'), this.#unseenCount === 1 ? '1 new' : `${this.#unseenCount} new`);
  }
}

/** The class and the title of an entry. @param {RunMessage} message @returns {[string, string]} */
function speakerOf({ type, role }) {
  if (type === 'human_response') return ['answer', 'Answer'];
  if (type === 'thought') return ['thought', 'Thought'];
  if (type === 'plan') return ['plan', 'Plan'];
  if (type === 'notice') return ['notice', 'Notice'];
  return role === 'user' ? ['person', 'Message'] : ['agent', 'Agent'];
}

/** The result of a call; the changes of files that it contains are shown as diffs. @param {unknown} result */
function resultBlocks(result) {
  if (typeof result !== 'object' || result === null || !('diffs' in result) || !Array.isArray(result.diffs))
    return [block('Result', result)];
  const { diffs, ...rest } = result;
  const changes = diffs.filter((each) => typeof each?.diff === 'string' && typeof each?.path === 'string');
  return [
    block('Result', rest),
    ...changes.map(({ path, diff }) => el('div', {}, el('p', { class: 'label' }, name(path)), diffBlock(diff))),
  ];
}

/** @param {string} label @param {unknown} value */
function block(label, value) {
  if (value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)) return null;
  return el('div', {}, el('p', { class: 'label' }, label), el('pre', { tabindex: 0, 'aria-label': label }, json(value)));
}

/** The most informative argument, on one line. @param {Record<string, unknown>} args */
function argumentOf(args) {
  const value = args.command ?? args.run ?? args.path ?? args.url ?? args.query ?? Object.values(args)[0];
  return value === undefined ? '' : oneLine(value);
}

/** A value on one line. @param {unknown} value */
function oneLine(value) {
  if (value === undefined || value === null) return '';
  const output = typeof value === 'object' && 'stdout' in value && typeof value.stdout === 'string' ? value.stdout : value;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return nameText(text.replaceAll(/\s+/g, ' ').trim().slice(0, 240));
}
