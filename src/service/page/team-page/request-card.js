/**
 * A human request with the form that answers it. The form is created once and stays, whatever data arrives. If
 * somebody else answers first, or the run ends, the card says so, and unsent text stays available for copying.
 */
import { ApiError, Keys, unavailability } from './api.js';
import { proseWithDiffs } from './diff.js';
import { announce, el, fill, icon } from './dom.js';
import { dropDraft, keepDraft, readDraft } from './drafts.js';
import { questionField } from './question-field.js';
import { Sight } from './sight.js';
import { moment, proseText } from './words.js';

/** @typedef {import('./types.d.ts').HumanRequest} HumanRequest */
/** @typedef {{ approved: boolean, reason?: string } | { answers: Record<string, string> }} Answer */

const approve = 'Approve';
const deny = 'Deny';

export class RequestCard {
  #app;
  #runId;
  #request;
  #keys = new Keys();
  /** @type {ReturnType<typeof questionField>[]} */
  #fields = [];
  #controls = el('div', { class: 'controls' });
  #problem = el('p', { class: 'problem', role: 'alert', hidden: true });
  #sendButton = el('button', { class: 'primary' });
  /** Takes up space even while it is hidden, so that nothing moves when it appears. */
  #waitNote = el('span', { class: 'moment quiet', 'aria-hidden': true }, 'Just a moment…');
  /** Undefined if the request cannot be answered here. @type {Sight | undefined} */
  #sight;
  /** `refused` until it is known who answered instead. @type {'open' | 'sending' | 'refused' | 'sent' | 'settled'} */
  #state = 'open';
  /** Whether an answer was sent whose response was lost. */
  #isUncertain = false;

  /**
   * @param {import('./types.d.ts').App} app
   * @param {string} runId
   * @param {HumanRequest} request
   * @param {Node} [about] where it comes from
   */
  constructor(app, runId, request, about) {
    this.#app = app;
    this.#runId = runId;
    this.#request = request;
    const heading = el('h2', { id: `r-${request.id}`, dir: 'auto' }, proseText(request.title));
    this.element = el(
      'article',
      { class: 'request', 'aria-labelledby': heading.id },
      el('p', { class: 'kicker' }, about ?? null, el('span', {}, 'asked ', moment(request.created_at))),
      heading,
      ...(request.description ? proseWithDiffs(request.description) : []),
      this.#controls,
      this.#problem,
    );
    this.#showForm();
  }

  get id() {
    return this.#request.id;
  }

  get runId() {
    return this.#runId;
  }

  /** ISO 8601. */
  get askedAt() {
    return this.#request.created_at;
  }

  /** Whether there is unsent text. */
  get hasUnsent() {
    return this.#state === 'settled' && this.#unsentTexts().length > 0;
  }

  /** Whether nothing has settled it yet. */
  get isOpen() {
    return this.#state === 'open' || this.#state === 'sending' || this.#state === 'refused';
  }

  /** Whether an answer is on its way. Until the service has responded, nobody knows whether the request was answered with it. */
  get isSending() {
    return this.#state === 'sending';
  }

  get wasSentHere() {
    return this.#state === 'sent';
  }

  /**
   * Shows that the request no longer waits, and that it was not answered on this page.
   * @param {string | undefined} answer the answer, if somebody answered
   * @param {string} [why] the reason, if nobody answered
   */
  settle(answer, why = this.#isUncertain ? 'This was answered.' : 'Somebody else answered this.') {
    if (!this.isOpen) return;
    this.#state = 'settled';
    const unsentTexts = this.#unsentTexts();
    const who = this.#isUncertain ? 'This was answered' : 'Somebody else answered';
    this.#finish(
      'other',
      answer === undefined ? why : `${who}:`,
      answer,
      unsentTexts.length === 0
        ? null
        : el(
            'details',
            { open: true },
            el('summary', {}, 'Your unsent text'),
            el('p', { class: 'prose' }, proseText(unsentTexts.join('\n'))),
          ),
    );
    announce(`${this.#request.title}: ${answer === undefined ? why : `${who}: ${answer}`}`);
  }

  #unsentTexts() {
    const [decision, ...otherFields] = this.#fields;
    const fields = this.#isApproval || decision === undefined ? otherFields : [decision, ...otherFields];
    return fields.map((field) => field.value()).filter((text) => text !== '');
  }

  get #isApproval() {
    return this.#request.type === 'approval';
  }

  #showForm() {
    if (!this.#app.session.hasScope('approvals:write')) {
      fill(this.#controls, el('p', { class: 'quiet' }, 'Your token cannot answer: it lacks the scope approvals:write.'));
      return;
    }
    this.#fields = this.#isApproval ? this.#approvalFields() : this.#questionFields();
    fill(this.#sendButton, this.#isApproval ? 'Send decision' : 'Send answer');
    const form = el(
      'form',
      {
        novalidate: true,
        submit: (event) => {
          event.preventDefault();
          this.#submit();
        },
      },
      ...this.#fields.map(({ element }) => element),
      el('div', { class: 'buttons' }, this.#sendButton, this.#waitNote),
    );
    fill(this.#controls, form);
    this.#sight = new Sight(form, () => this.#showReadiness());
    this.#showReadiness();
  }

  /** An approval is shown as a question. Neither decision is preselected. */
  #approvalFields() {
    const decision = { question: 'Your decision', options: [{ label: approve }, { label: deny }] };
    const reason = { question: 'Reason (optional)' };
    return [this.#field(decision, 0), this.#field(reason, 1, { optional: true, maxLength: 2_000 })];
  }

  #questionFields() {
    return (this.#request.questions ?? []).map((question, index) => this.#field(question, index));
  }

  /** @param {import('./types.d.ts').HumanQuestion} question @param {number} index @param {{ optional?: boolean, maxLength?: number }} [limits] */
  #field(question, index, limits = {}) {
    /** @type {unknown[]} */
    const draft = readDraft(this.id) ?? [];
    return questionField(question, {
      id: `${this.id}-${index}`,
      title: this.#request.title,
      draft: draft[index],
      ...limits,
      onChange: () => this.#onChange(),
    });
  }

  #onChange() {
    keepDraft(
      this.id,
      this.#fields.map((field) => field.draft()),
    );
    this.#showProblem('');
  }

  #submit() {
    if (this.#sight?.takePress() === false) {
      this.#showProblem('Nothing was sent, because this had only just appeared here. Read it, then send again.');
      return;
    }
    const invalidFields = this.#fields.filter((field) => !field.check());
    if (invalidFields[0] !== undefined) {
      invalidFields[0].focus();
      return;
    }
    void this.#send(this.#isApproval ? this.#decision() : this.#answers());
  }

  /** @returns {Answer} */
  #decision() {
    const [decision, reason] = this.#fields.map((field) => field.value());
    return { approved: decision === approve, ...(reason ? { reason } : {}) };
  }

  /** @returns {Answer} */
  #answers() {
    const questions = this.#request.questions ?? [];
    return { answers: Object.fromEntries(questions.map(({ question }, index) => [question, this.#fields[index]?.value() ?? ''])) };
  }

  /** @param {Answer} answer */
  async #send(answer) {
    if (this.#state !== 'open') return;
    this.#setBusy(true);
    try {
      const path = `/v2/runs/${encodeURIComponent(this.#runId)}/human-requests/${encodeURIComponent(this.id)}/respond`;
      /** @type {{ human_request: { response: string | null } }} */
      const { human_request: answeredRequest } = await this.#app.session.api.post(path, answer, this.#keys.for(answer));
      this.#state = 'sent';
      dropDraft(this.id);
      const response = answeredRequest.response ?? '';
      if ('approved' in answer) this.#finish('mine', answer.approved ? 'You approved this.' : 'You denied this.', answer.reason);
      else this.#finish('mine', 'You answered:', response);
      announce('Your answer was sent.');
    } catch (error) {
      this.#handleError(error);
    }
    this.#app.wake();
  }

  /** @param {unknown} error */
  #handleError(error) {
    // Somebody else answered first; their answer is read now and settles the card.
    if (error instanceof ApiError && error.status === 409 && error.code.startsWith('human_request')) {
      this.#state = 'refused';
      this.#isUncertain = false;
      return;
    }
    this.#setBusy(false);
    if (error instanceof ApiError && error.status === 409 && error.code === 'run_not_waiting') {
      return this.settle(undefined, 'The run no longer waits for this.');
    }
    if (error instanceof ApiError && error.status === 404) return this.settle(undefined, 'This request no longer exists.');
    const kind = unavailability(error);
    this.#isUncertain = kind === 'away' || kind === 'failing';
    if (kind === 'away') {
      this.#showProblem('No response arrived, so your answer might not have been delivered. You can safely send it again: it counts once.');
    } else if (error instanceof ApiError && error.status === 429) {
      this.#showProblem(`The service requested a pause. Nothing was sent; try again in ${error.retryAfter} s.`);
    } else this.#showProblem(error instanceof Error ? proseText(error.message) : 'The answer could not be sent.');
  }

  /** @param {boolean} busy */
  #setBusy(busy) {
    this.#state = busy ? 'sending' : 'open';
    this.element.setAttribute('aria-busy', String(busy));
    this.#showReadiness();
    if (busy) this.#showProblem('');
  }

  /** Shows whether the button would send the form. */
  #showReadiness() {
    const isSettled = this.#sight?.settled === true;
    // Not `disabled`, because that would lose the focus.
    this.#sendButton.setAttribute('aria-disabled', String(!isSettled || this.#state !== 'open'));
    this.#waitNote.classList.toggle('over', isSettled);
  }

  /** @param {string} text */
  #showProblem(text) {
    this.#problem.hidden = text === '';
    this.#problem.textContent = text;
  }

  /** @param {'mine' | 'other'} whose @param {string} text @param {string} [answer] @param {Node | null} [more] */
  #finish(whose, text, answer, more = null) {
    const hadFocus = this.element.contains(document.activeElement);
    this.#sight?.end();
    this.element.classList.add('answered', whose);
    this.element.removeAttribute('aria-busy');
    this.#showProblem('');
    const outcome = el(
      'p',
      { class: 'outcome', tabindex: -1 },
      whose === 'mine' ? icon('check') : null,
      text,
      answer === undefined ? null : el('span', { class: 'prose answer', dir: 'auto' }, proseText(answer)),
    );
    fill(this.#controls, outcome, more);
    if (hadFocus) outcome.focus({ preventScroll: true });
  }
}
