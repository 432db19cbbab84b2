/** Pictures of a run, small in a strip and large in a dialog. */
import { el, icon } from './dom.js';

/**
 * A signed URL as a path of this origin, whatever host name the page uses; the policy permits nothing else.
 * @param {string} url
 */
export function ownPath(url) {
  const { pathname, search } = new URL(url, location.href);
  return `${pathname}${search}`;
}

/**
 * @param {{ label: string, alt: string, url: string, renew: () => Promise<string | undefined>, open: (button: HTMLElement) => void }} options
 */
export function picture({ label, alt, url, renew, open }) {
  const image = el('img', { src: ownPath(url), alt, loading: 'lazy', decoding: 'async' });
  const note = el('span', { class: 'missing', hidden: true }, 'The picture could not be loaded.');
  let tries = 0;
  // A URL is valid for some minutes, and a page can be open for longer.
  image.addEventListener('error', async () => {
    const newUrl = tries++ === 0 ? await renew() : undefined;
    if (newUrl !== undefined) image.src = ownPath(newUrl);
    else {
      note.hidden = false;
      image.hidden = true;
    }
  });
  image.addEventListener('load', () => {
    tries = 0;
  });
  const button = el(
    'button',
    { type: 'button', class: 'picture', 'aria-label': `Enlarge: ${alt}`, click: () => open(button) },
    image,
    note,
  );
  return el('figure', {}, el('figcaption', {}, label), button);
}

/** A picture at full size. The arrow keys show the next and the previous one, and Escape closes it. */
export class PictureDialog {
  #image = el('img', { alt: '' });
  #caption = el('p', { class: 'caption' });
  /** @type {HTMLElement | undefined} */
  #from;

  constructor() {
    this.element = el(
      'dialog',
      { class: 'viewer', 'aria-label': 'Screenshot' },
      el(
        'div',
        { class: 'viewer-bar' },
        this.#caption,
        el('button', { type: 'button', class: 'plain', click: () => this.#step(-1) }, 'Previous'),
        el('button', { type: 'button', class: 'plain', click: () => this.#step(1) }, 'Next'),
        el('button', { type: 'button', class: 'plain', 'aria-label': 'Close', click: () => this.element.close() }, icon('cross')),
      ),
      el('div', { class: 'viewer-place', tabindex: 0, 'aria-label': 'Picture' }, this.#image),
    );
    this.element.addEventListener('keydown', ({ key }) => {
      if (key === 'ArrowRight') this.#step(1);
      if (key === 'ArrowLeft') this.#step(-1);
    });
    this.element.addEventListener('close', () => this.#from?.focus());
    this.element.addEventListener('click', ({ target }) => target === this.element && this.element.close());
  }

  /** @param {HTMLElement} button the button with the small picture */
  open = (button) => {
    this.#show(button);
    this.element.showModal();
  };

  /** @param {HTMLElement} button */
  #show(button) {
    const thumbnail = button.querySelector('img');
    if (thumbnail === null) return;
    this.#from = button;
    this.#image.src = thumbnail.src;
    this.#image.alt = thumbnail.alt;
    this.#caption.textContent = thumbnail.alt;
  }

  /** @param {number} by */
  #step(by) {
    const buttons = [...document.querySelectorAll('button.picture')];
    const next = buttons[this.#from === undefined ? -1 : buttons.indexOf(this.#from) + by];
    if (next instanceof HTMLElement) this.#show(next);
  }
}
