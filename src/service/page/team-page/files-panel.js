/** The files of a run: browse folders, read text, download anything. No file is ever executed or opened as a page. */
import { ApiError } from './api.js';
import { el, fill, icon, reconcile } from './dom.js';
import { ownPath } from './pictures.js';
import { isFinal, moment, name, nameText, size } from './words.js';

/** @typedef {import('./types.d.ts').SandboxFileEntry} Entry */
/** @typedef {import('./types.d.ts').SandboxFileContent} Content */

/** @type {Record<string, [title: string, text: string]>} */
const reasons = {
  not_found: ['The files have been removed', 'They were deleted some time after the end of the run.'],
  error: ['The files cannot be read', 'The log of the service contains the reason.'],
};

export class FilesPanel {
  #app;
  #id;
  #path;
  #trail = el('nav', { class: 'trail', 'aria-label': 'Folders' });
  #place = el('div', {});
  #list = el('ul', { class: 'files', 'aria-label': 'Files' });
  #empty = el('div', { class: 'empty', hidden: true });
  /** @type {Map<string, ReturnType<typeof fileRow>>} */
  #rows = new Map();
  /** The end of the run after which it was read. @type {string | null | undefined} */
  #readEnd;
  #signature = '';

  /** @param {import('./types.d.ts').App} app @param {string} id @param {{ path: string, isFile: boolean }} at */
  constructor(app, id, at) {
    this.#app = app;
    this.#id = id;
    this.#path = at;
    this.element = el('div', { class: 'panel' }, this.#trail, this.#list, this.#place, this.#empty);
    this.#list.hidden = true;
  }

  /** @param {AbortSignal} signal @param {import('./types.d.ts').Run} run */
  async refresh(signal, run) {
    if (!this.#app.session.hasScope('files:read'))
      return this.#showEmpty('Not permitted', 'Your token needs the scope files:read to show files.');
    if (isFinal(run.status) && run.completed_at === this.#readEnd) return;
    try {
      if (this.#path.isFile) await this.#readFile(signal);
      else await this.#readFolder(signal);
      this.#readEnd = isFinal(run.status) ? run.completed_at : undefined;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500 || error.status === 401 || error.status === 429) throw error;
      this.#showTrail(this.#path.path);
      this.#showEmpty(error.status === 404 ? 'This file does not exist' : 'This cannot be shown', nameText(error.message));
    }
  }

  /** @template Answer @param {string} what @param {AbortSignal} signal @returns {Promise<Answer>} */
  #get(what, signal) {
    return this.#app.session.api.get(
      `/v2/runs/${encodeURIComponent(this.#id)}/sandbox/${what}`,
      { path: this.#path.path || undefined },
      signal,
    );
  }

  /** @param {AbortSignal} signal */
  async #readFolder(signal) {
    /** @type {{ data: { sandboxStatus: string, path: string, entries: Entry[] } }} */
    const { data } = await this.#get('files', signal);
    this.#showTrail(data.path);
    const reason = reasons[data.sandboxStatus];
    if (reason !== undefined) return this.#showEmpty(...reason);
    const entries = data.entries.toSorted((a, b) => (a.type === b.type ? a.name.localeCompare(b.name) : a.type === 'directory' ? -1 : 1));
    reconcile(
      this.#list,
      this.#rows,
      entries,
      ({ path, type }) => `${type} ${path}`,
      (entry) => fileRow(entry, (to, isFile) => this.#address(to, isFile)),
    );
    this.#list.hidden = entries.length === 0;
    this.#empty.hidden = entries.length > 0;
    if (entries.length === 0) this.#showEmpty('No files', 'Files that the run writes appear here.');
  }

  /** @param {AbortSignal} signal */
  async #readFile(signal) {
    /** @type {{ data: Content }} */
    const { data } = await this.#get('files/content', signal);
    const reason = reasons[data.sandboxStatus];
    if (reason !== undefined) {
      this.#showTrail(data.path);
      return this.#showEmpty(...reason);
    }
    const signature = JSON.stringify({ ...data, sandboxStatus: '', download_url: '' });
    if (signature === this.#signature) return;
    this.#signature = signature;
    this.#empty.hidden = true;
    this.#showTrail(data.path);
    const isPicture = /^image\/(png|jpeg|gif|webp|avif)$/.test(data.mime_type ?? '') && data.download_url;
    fill(
      this.#place,
      el(
        'div',
        { class: 'file-head' },
        el('p', { class: 'facts' }, el('span', {}, size(data.size)), data.mime_type ? el('span', {}, nameText(data.mime_type)) : null),
        this.#downloadLink(data),
      ),
      data.content === null
        ? isPicture
          ? el('img', { class: 'whole', src: ownPath(data.download_url ?? ''), alt: nameText(baseName(data.path)) })
          : el('p', { class: 'quiet' }, 'This file is not text. Download it to view it.')
        : data.content === ''
          ? el('p', { class: 'quiet' }, 'The file is empty.')
          : // Shown unchanged, so that nobody mistakes one file for another.
            el('pre', { class: 'content', tabindex: 0, 'aria-label': `Content of ${nameText(baseName(data.path))}` }, data.content),
      data.truncated ? el('p', { class: 'quiet' }, 'Only the beginning is shown. Download the file to see all of it.') : null,
    );
  }

  /** @param {Content} data */
  #downloadLink({ content, download_url: url, path }) {
    const link = el('a', { class: 'button', download: baseName(path), rel: 'noreferrer' }, icon('down'), 'Download');
    if (url) link.href = ownPath(url);
    else {
      // Sent as bytes, which no browser opens as a page.
      link.href = '#';
      link.addEventListener('click', () => {
        link.href = URL.createObjectURL(new Blob([content ?? ''], { type: 'application/octet-stream' }));
        setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      });
    }
    return link;
  }

  /** @param {string} path */
  #showTrail(path) {
    if (this.#trail.dataset.path === path) return;
    this.#trail.dataset.path = path;
    const names = path.split('/').filter((part) => part !== '');
    fill(
      this.#trail,
      ...names.flatMap((part, index) => {
        const isLast = index === names.length - 1;
        const to = `/${names.slice(0, index + 1).join('/')}`;
        return [
          index === 0 ? null : el('span', { 'aria-hidden': 'true' }, '/'),
          isLast ? el('span', { 'aria-current': 'page' }, name(part)) : el('a', { href: this.#address(to, false) }, name(part)),
        ];
      }),
    );
  }

  /** @param {string} path @param {boolean} isFile */
  #address(path, isFile) {
    return `#/runs/${this.#id}/${isFile ? 'file' : 'files'}/${path
      .split('/')
      .filter((part) => part !== '')
      .map(encodeURIComponent)
      .join('/')}`;
  }

  /** @param {string | undefined} title @param {string | undefined} text */
  #showEmpty(title, text) {
    this.#list.hidden = true;
    this.#empty.hidden = false;
    fill(this.#place);
    this.#signature = '';
    if (this.#empty.dataset.text === `${title} ${text}`) return;
    this.#empty.dataset.text = `${title} ${text}`;
    fill(this.#empty, el('h2', {}, title), el('p', {}, text));
  }
}

/** @param {string} path */
const baseName = (path) => path.split('/').at(-1) ?? path;

/** @param {Entry} first @param {(path: string, isFile: boolean) => string} address */
function fileRow(first, address) {
  const facts = el('span', { class: 'by' });
  const isFile = first.type === 'file';
  const element = el(
    'li',
    {},
    el(
      'a',
      { href: address(first.path, isFile) },
      icon(isFile ? 'file' : 'folder'),
      el('span', { class: 'hidden' }, isFile ? 'File ' : 'Folder '),
      name(first.name, 'file-name'),
      facts,
    ),
  );
  let latestSignature = '';
  /** @param {Entry} entry */
  const update = (entry) => {
    const signature = `${entry.size} ${entry.modified_at}`;
    if (signature === latestSignature) return;
    latestSignature = signature;
    fill(facts, isFile ? el('span', {}, size(entry.size)) : null, el('span', {}, moment(entry.modified_at)));
  };
  update(first);
  return { element, update };
}
