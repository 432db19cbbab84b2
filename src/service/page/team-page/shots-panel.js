/** What a run did in its browser, action by action, with a picture before and after each. */
import { el, fill, reconcile, setText } from './dom.js';
import { PictureDialog, picture } from './pictures.js';
import { between, countText, isFinal, moment, nameText, proseText } from './words.js';

/** @typedef {import('./types.d.ts').Shot} Shot */

export class ShotsPanel {
  #app;
  #id;
  #strip = el('ol', { class: 'strip' });
  #empty = el('div', { class: 'empty', hidden: true });
  #count = el('p', { class: 'quiet' });
  #dialog = new PictureDialog();
  /** @type {Map<string, ReturnType<typeof frame>>} */
  #frames = new Map();
  /** The end of the run after which it was read. @type {string | null | undefined} */
  #readEnd;
  /** The latest version of each, for pictures whose URL has expired. @type {Map<string, Shot>} */
  #shots = new Map();
  /** @type {Promise<void> | undefined} */
  #renewing;

  /** @param {import('./types.d.ts').App} app @param {string} id */
  constructor(app, id) {
    this.#app = app;
    this.#id = id;
    this.element = el('div', { class: 'panel' }, this.#count, this.#strip, this.#empty, this.#dialog.element);
  }

  /** @param {AbortSignal} signal @param {import('./types.d.ts').Run} run */
  async refresh(signal, run) {
    if (!this.#app.session.hasScope('files:read')) {
      this.#empty.hidden = false;
      fill(this.#empty, el('h2', {}, 'Not permitted'), el('p', {}, 'Your token needs the scope files:read to show screenshots.'));
      return;
    }
    // A run that has ended takes no more pictures; a run that continues is read again.
    if (isFinal(run.status) && run.completed_at === this.#readEnd) return;
    await this.#read(signal);
    this.#readEnd = isFinal(run.status) ? run.completed_at : undefined;
    const shots = [...this.#shots.values()];
    reconcile(
      this.#strip,
      this.#frames,
      shots,
      (shot) => shot.executionId,
      (shot) => frame(shot, this.#frames.size + 1, this.#dialog, (id, which) => this.#renew(id, which)),
    );
    const failedCount = shots.filter(({ error }) => error !== undefined).length;
    setText(
      this.#count,
      shots.length === 0 ? '' : `${countText(shots.length, 'action')}${failedCount === 0 ? '' : `, ${failedCount} failed`}`,
    );
    this.#empty.hidden = shots.length > 0;
    if (shots.length === 0 && this.#empty.dataset.status !== run.status) {
      this.#empty.dataset.status = run.status;
      fill(
        this.#empty,
        el('h2', {}, 'No screenshots'),
        el('p', {}, isFinal(run.status) ? 'This run did not use a browser.' : 'Pictures appear here when the run uses its browser.'),
      );
    }
  }

  /** @param {AbortSignal} [signal] */
  async #read(signal) {
    /** @type {{ data: { toolExecutions: Shot[] } }} */
    const { data } = await this.#app.session.api.get(`/v2/agent-runs/${encodeURIComponent(this.#id)}/screenshots/timeline`, {}, signal);
    this.#shots = new Map(data.toolExecutions.map((shot) => [shot.executionId, shot]));
  }

  /** A new URL for a picture whose URL has expired. Many expire at the same time, so they are requested together. @param {string} id @param {'beforeScreenshot' | 'afterScreenshot'} which */
  async #renew(id, which) {
    this.#renewing ??= this.#read().finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing.catch(() => undefined);
    return this.#shots.get(id)?.[which]?.signedUrl;
  }
}

/**
 * @param {Shot} first @param {number} number @param {PictureDialog} dialog
 * @param {(id: string, which: 'beforeScreenshot' | 'afterScreenshot') => Promise<string | undefined>} renew
 */
function frame(first, number, dialog, renew) {
  const heading = el('h2', { id: `s${number}` });
  const facts = el('p', { class: 'facts' });
  const problem = el('p', { class: 'failure', hidden: true, dir: 'auto' });
  const pictures = el('div', { class: 'pictures' });
  const element = el(
    'li',
    { class: 'frame', 'aria-labelledby': heading.id },
    el('div', { class: 'frame-head' }, el('span', { class: 'frame-number', 'aria-hidden': 'true' }, number), el('div', {}, heading, facts)),
    problem,
    pictures,
  );
  let latestSignature = '';
  /** @param {Shot} shot */
  const update = (shot) => {
    // URLs are signed again for each read; the pictures are the same.
    const signature = `${shot.endedAt} ${shot.error} ${shot.beforeScreenshot === null} ${shot.afterScreenshot === null}`;
    if (signature === latestSignature) return;
    latestSignature = signature;
    const what = nameText(actionText(shot));
    const { title, url } = shot.input ?? {};
    const duration = between(shot.startedAt, shot.endedAt);
    fill(heading, el('span', { class: 'hidden' }, `Action ${number}: `), el('bdi', {}, what));
    fill(
      facts,
      typeof title === 'string' && title !== '' ? el('bdi', { class: 'page-title' }, nameText(title)) : null,
      typeof url === 'string' ? el('bdi', { class: 'address' }, nameText(url)) : null,
      el('span', {}, moment(shot.startedAt), duration === undefined ? null : `, took ${duration}`),
    );
    element.classList.toggle('failed', shot.error !== undefined);
    problem.hidden = shot.error === undefined;
    problem.textContent = shot.error === undefined ? '' : proseText(`Failed: ${shot.error}`);
    /** @type {[label: string, which: 'beforeScreenshot' | 'afterScreenshot'][]} */
    const pictureKeys = [
      ['Before', 'beforeScreenshot'],
      ['After', 'afterScreenshot'],
    ];
    const available = pictureKeys.filter(([, which]) => shot[which] !== null);
    fill(
      pictures,
      ...available.map(([label, which]) =>
        picture({
          label,
          alt: `${label} action ${number}, ${what}`,
          url: shot[which]?.signedUrl ?? '',
          renew: () => renew(shot.executionId, which),
          open: dialog.open,
        }),
      ),
      available.length === 0 ? el('p', { class: 'quiet' }, shot.endedAt === null ? 'In progress…' : 'No picture could be taken.') : null,
    );
  };
  update(first);
  return { element, update };
}

/** The most informative arguments of an action, in order of preference. */
const targetKeys = ['caption', 'selector', 'key', 'for', 'address', 'name', 'text', 'path'];

/** `click #pay`: the action, and its target if known. @param {Shot} shot */
function actionText({ toolName, action, input }) {
  const object = targetKeys.map((key) => input?.[key]).find((value) => typeof value === 'string' && value !== '');
  return [action ?? toolName, ...(typeof object === 'string' ? [object] : [])].join(' ');
}
