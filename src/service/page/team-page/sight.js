/**
 * Whether a person can have read something before pressing it: it must have been visible, without moving, for a moment.
 * Otherwise a click or a key that was meant for something else could decide what has just appeared in its place.
 */

/** How long something must have been visible in one place, in milliseconds. */
export const graceMilliseconds = 700;

/** Keys that press a button or send a form. */
const pressing = new Set(['Enter', ' ']);

export class Sight {
  #element;
  #changed;
  #isVisible = false;
  /** Its position in the document, in CSS pixels; scrolling does not change it. */
  #top = 0;
  /** When it was last hidden or moved, on the clock of `performance.now()`. */
  #since = Number.POSITIVE_INFINITY;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** Whether the press in progress began when the element was settled; undefined if there is no known press. @type {boolean | undefined} */
  #pressed;
  #observers;
  #onVisibility = () => this.#restart();

  /**
   * @param {HTMLElement} element the element to watch, with presses inside it
   * @param {() => void} changed called when `settled` changes
   */
  constructor(element, changed) {
    this.#element = element;
    this.#changed = changed;
    const visible = new IntersectionObserver(([entry]) => {
      this.#isVisible = entry?.isIntersecting === true;
      this.#restart();
    });
    visible.observe(element);
    // Anything that appears or disappears above it changes the height of the page.
    const moved = new ResizeObserver(() => {
      if (Math.abs(this.#place() - this.#top) > 4) this.#restart();
    });
    moved.observe(document.body);
    this.#observers = [visible, moved];
    document.addEventListener('visibilitychange', this.#onVisibility);
    element.addEventListener('pointerdown', () => this.#press(), true);
    element.addEventListener('keydown', (event) => pressing.has(event.key) && this.#press(event.repeat), true);
  }

  /** Whether it has been in view long enough. */
  get settled() {
    return performance.now() - this.#since >= graceMilliseconds;
  }

  /** Whether the press that leads to this call also began after that. Each press counts once. */
  takePress() {
    const began = this.#pressed ?? this.settled;
    this.#pressed = undefined;
    return began && this.settled;
  }

  end() {
    for (const observer of this.#observers) observer.disconnect();
    document.removeEventListener('visibilitychange', this.#onVisibility);
    clearTimeout(this.#timer);
  }

  #place = () => this.#element.getBoundingClientRect().top + scrollY;

  /** A key that is held down was pressed earlier, for something else. */
  #press(isRepeated = false) {
    this.#pressed = this.settled && !isRepeated;
  }

  #restart() {
    const isShown = this.#isVisible && document.visibilityState === 'visible';
    this.#top = this.#place();
    this.#since = isShown ? performance.now() : Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
    if (isShown) this.#timer = setTimeout(() => this.#changed(), graceMilliseconds + 1);
    this.#changed();
  }
}
