/**
 * Whether a person can have read something before pressing it: it must have been visible, without moving, for a moment.
 * Otherwise a click or a key that was meant for something else could decide what has just appeared in its place.
 */

/** How long something must have been visible in one place, in milliseconds. */
export const graceMilliseconds = 700;

/** Keys that press a button or send a form. */
const pressKeys = new Set(['Enter', ' ']);

export class Sight {
  #element;
  #onChange;
  #isVisible = false;
  /** Its position in the document, in CSS pixels; scrolling does not change it. */
  #top = 0;
  /** When it was last hidden or moved, on the clock of `performance.now()`. */
  #stableSince = Number.POSITIVE_INFINITY;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** Whether the press in progress began when the element was settled; undefined if there is no known press. @type {boolean | undefined} */
  #isPressSettled;
  #observers;
  #onVisibility = () => this.#restart();

  /**
   * @param {HTMLElement} element the element to watch, with presses inside it
   * @param {() => void} onChange called when `settled` changes
   */
  constructor(element, onChange) {
    this.#element = element;
    this.#onChange = onChange;
    const visibilityObserver = new IntersectionObserver(([entry]) => {
      this.#isVisible = entry?.isIntersecting === true;
      this.#restart();
    });
    visibilityObserver.observe(element);
    // Anything that appears or disappears above it changes the height of the page.
    const resizeObserver = new ResizeObserver(() => {
      if (Math.abs(this.#place() - this.#top) > 4) this.#restart();
    });
    resizeObserver.observe(document.body);
    this.#observers = [visibilityObserver, resizeObserver];
    document.addEventListener('visibilitychange', this.#onVisibility);
    element.addEventListener('pointerdown', () => this.#press(), true);
    element.addEventListener('keydown', (event) => pressKeys.has(event.key) && this.#press(event.repeat), true);
  }

  /** Whether it has been in view long enough. */
  get settled() {
    return performance.now() - this.#stableSince >= graceMilliseconds;
  }

  /** Whether the press that leads to this call also began after that. Each press counts once. */
  takePress() {
    const didPressSettled = this.#isPressSettled ?? this.settled;
    this.#isPressSettled = undefined;
    return didPressSettled && this.settled;
  }

  end() {
    for (const observer of this.#observers) observer.disconnect();
    document.removeEventListener('visibilitychange', this.#onVisibility);
    clearTimeout(this.#timer);
  }

  #place = () => this.#element.getBoundingClientRect().top + scrollY;

  /** A key that is held down was pressed earlier, for something else. */
  #press(isRepeated = false) {
    this.#isPressSettled = this.settled && !isRepeated;
  }

  #restart() {
    const isShown = this.#isVisible && document.visibilityState === 'visible';
    this.#top = this.#place();
    this.#stableSince = isShown ? performance.now() : Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
    if (isShown) this.#timer = setTimeout(() => this.#onChange(), graceMilliseconds + 1);
    this.#onChange();
  }
}
