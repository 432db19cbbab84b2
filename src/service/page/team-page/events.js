/**
 * Event streams, which report that there is something to read. They are read with fetch, because the browser's EventSource cannot send
 * the token. Without a stream the page polls. A page that is not in view reads no stream: browsers open few connections to a service,
 * and all pages share them.
 */

/** Milliseconds without any data after which a stream is abandoned; the service sends a comment every 15 s. */
const patience = 45_000;
/** Milliseconds until a stream is reopened, after one failure, two failures, and so on. */
const pauses = [1_000, 2_000, 5_000, 15_000, 30_000];

/** An event stream that is read until it is closed. */
export class Events {
  #token;
  #path;
  #onChange;
  #closing = new AbortController();
  #failures = 0;
  #lastId = '';
  /** Whether the stream is open, and therefore reports when there is something new. */
  isOpen = false;

  /**
   * @param {string} token @param {string} path
   * @param {() => void} onChange called when there might be something new, or the stream was opened or has ended
   */
  constructor(token, path, onChange) {
    this.#token = token;
    this.#path = path;
    this.#onChange = onChange;
    void this.#follow();
  }

  close() {
    this.isOpen = false;
    this.#closing.abort();
  }

  async #follow() {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await inView(signal);
      if (signal.aborted) return;
      const isOffered = await this.#read(signal).catch(() => true);
      if (signal.aborted) return;
      const wasOpen = this.isOpen;
      this.isOpen = false;
      if (wasOpen) this.#onChange();
      if (!isOffered) return;
      const pause = pauses[Math.min(this.#failures++, pauses.length - 1)] ?? 30_000;
      await new Promise((resolve) => setTimeout(resolve, pause * (1 + Math.random() / 2)));
    }
  }

  /** Reads until the stream ends. @param {AbortSignal} signal @returns {Promise<boolean>} whether to try again */
  async #read(signal) {
    const controller = new AbortController();
    const alive = () => setTimeout(() => controller.abort(), patience);
    let timer = alive();
    const hide = () => document.hidden && controller.abort();
    document.addEventListener('visibilitychange', hide);
    try {
      const response = await fetch(this.#path, {
        headers: {
          Authorization: `Bearer ${this.#token}`,
          Accept: 'text/event-stream',
          ...(this.#lastId === '' ? {} : { 'Last-Event-ID': this.#lastId }),
        },
        signal: AbortSignal.any([signal, controller.signal]),
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
      });
      const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true;
      if (response.status !== 200 || !isStream || response.body === null) return response.status === 429 || response.status >= 500;
      this.isOpen = true;
      this.#onChange();
      const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { done, value } = await lines.read();
        if (done) return true;
        clearTimeout(timer);
        timer = alive();
        rest = this.#take(rest + value);
      }
    } finally {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', hide);
    }
  }

  /** Stores IDs and reports events; the page then reads the new data. @param {string} text @returns {string} the incomplete last line */
  #take(text) {
    const lines = text.split('\n');
    const rest = lines.pop() ?? '';
    let isNew = false;
    for (const line of lines) {
      if (line.startsWith('id: ')) this.#lastId = line.slice(4);
      else if (line.startsWith('data:')) isNew = true;
    }
    if (isNew) {
      this.#failures = 0;
      this.#onChange();
    }
    // A line of data can be long, and only its beginning matters.
    return rest.startsWith('data:') ? 'data:' : rest;
  }
}

/** Resolves when the page is in view, or the signal is aborted. @param {AbortSignal} signal @returns {Promise<void>} */
function inView(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', check);
      signal.removeEventListener('abort', check);
      resolve();
    };
    document.addEventListener('visibilitychange', check);
    signal.addEventListener('abort', check);
  });
}
