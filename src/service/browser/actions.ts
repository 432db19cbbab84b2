/** Performs single actions in a browser. When a page refuses one, throws a ServiceError 400 `browse_failed`. */
import type { Download, Locator, Page } from 'playwright-core';
import { formatDuration } from '../../base/duration.ts';
import { actionProblem, browseFailed, elementProblem, navigationProblem } from './problems.ts';
import type { BrowserSession } from './session.ts';

export type BrowserAction =
  | { kind: 'open'; url: string }
  | { kind: 'click'; selector: string }
  | { kind: 'fill'; selector: string; text: string }
  | { kind: 'press'; key: string }
  | { kind: 'select'; selector: string; option: string }
  | { kind: 'upload'; selector: string; file: { name: string; mimeType: string; buffer: Buffer } }
  /** Exactly one of the four is set. `url` can contain * for any text. */
  | { kind: 'wait_for'; selector?: string; text?: string; url?: string; gone?: string }
  | { kind: 'extract'; selector: string; attribute?: string; all?: boolean }
  | { kind: 'screenshot' }
  | { kind: 'download'; selector: string };

/** The result of an action. */
export interface ActionOutcome {
  /** The HTTP status of the page that was opened. */
  status?: number;
  /** The extracted value. */
  value?: string | null | (string | null)[];
  /** The download in progress. */
  download?: Download;
}

/** The maximum length of an extracted text, and the maximum number of texts with `all`. */
const maxTextLength = 64 * 1024;
const maxTexts = 1_000;

/** Performs an action on the current page. `timeoutMs` limits each wait for the page. */
export async function perform(session: BrowserSession, action: BrowserAction, timeoutMs: number): Promise<ActionOutcome> {
  // Whether the current page can open a URL depends on what it did before.
  if (action.kind !== 'open') session.pages.startAction();
  const outcome = await act(session, action, timeoutMs);
  // An action includes its effects, such as loading the page that a link leads to.
  if (changesPage(action)) await session.pages.current.waitForLoadState('load', { timeout: timeoutMs }).catch(() => undefined);
  return outcome;
}

/** Whether a text is secret because its field is a password field. Throws like an action if there is no such field. */
export async function isSecret(session: BrowserSession, selector: string, timeoutMs: number): Promise<boolean> {
  let type: string | null = null;
  await onElement(session, selector, timeoutMs, async (element) => {
    type = await element.getAttribute('type', { timeout: timeoutMs });
  });
  return (type as string | null)?.toLowerCase() === 'password';
}

const changesPage = ({ kind }: BrowserAction): boolean => !['open', 'extract', 'screenshot', 'download'].includes(kind);

async function act(session: BrowserSession, action: BrowserAction, timeoutMs: number): Promise<ActionOutcome> {
  const actOn = (selector: string, use: (element: Locator) => Promise<unknown>): Promise<ActionOutcome> =>
    onElement(session, selector, timeoutMs, use);
  const timeout = timeoutMs;
  switch (action.kind) {
    case 'open':
      return await open(session, action.url, timeoutMs);
    case 'click':
      return await actOn(action.selector, (element) => element.click({ timeout }));
    case 'fill':
      return await actOn(action.selector, async (element) => {
        await element.fill(action.text, { timeout });
        if (action.text.trim() !== '') await requireTaken(session, element);
      });
    case 'select':
      return await actOn(action.selector, (element) => element.selectOption(action.option, { timeout }));
    case 'upload':
      return await actOn(action.selector, (element) => element.setInputFiles(action.file, { timeout }));
    case 'press':
      try {
        await session.askPage(() => session.pages.current.keyboard.press(action.key), timeoutMs);
        return {};
      } catch (error) {
        throw actionProblem(`the key \`${action.key}\` could not be pressed`, error, timeoutMs);
      }
    case 'wait_for':
      return await session.pages.wait(timeoutMs, (page, timeout) => waitFor(session, page, action, { timeoutMs, timeout }));
    case 'extract':
      return await extract(session, action, timeoutMs);
    case 'download':
      return await download(session, action.selector, timeoutMs);
    case 'screenshot':
      return {};
  }
}

async function open(session: BrowserSession, url: string, timeoutMs: number): Promise<ActionOutcome> {
  const { refusedHosts } = session;
  const visible = publicUrl(url);
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined || !['http:', 'https:'].includes(address.protocol))
    throw browseFailed(`\`${visible}\` cannot be opened: a URL must begin with http:// or https://`);
  try {
    const response = await session.load(url, timeoutMs);
    if (!refusedHosts.has(address.host)) return response === null ? {} : { status: response.status() };
  } catch (error) {
    if (!refusedHosts.has(address.host)) throw navigationProblem(visible, error, timeoutMs);
  }
  throw browseFailed(
    `${visible} was not opened: ${address.host} is not a public address, and this service opens only public ones (--browse public)`,
  );
}

/** A URL without user name and password. */
export function publicUrl(url: string): string {
  if (!URL.canParse(url)) return url;
  const visible = new URL(url);
  if (visible.username === '' && visible.password === '') return url;
  [visible.username, visible.password] = ['', ''];
  return visible.href;
}

/** The formats of fields that expect something other than what people see. With another format, the browser leaves the field empty. */
const exampleValues: Record<string, string> = {
  date: '2026-07-18',
  'datetime-local': '2026-07-18T09:30',
  month: '2026-07',
  time: '09:30',
  week: '2026-W29',
};

/** Throws if a field is empty after it was filled, because it expects another format. */
async function requireTaken(session: BrowserSession, element: Locator): Promise<void> {
  const emptyTypes = () =>
    element.evaluateAll((elements) =>
      (elements as unknown as { type: string; value: string }[]).filter(({ value }) => value === '').map(({ type }) => type),
    );
  // The field no longer exists if the page has changed in the meantime.
  const [type] = await session.askPage(emptyTypes, countTime).catch(() => []);
  const form = type === undefined ? undefined : exampleValues[type];
  if (form !== undefined) throw new Error(`the field only accepts the format ${form}`);
}

/** Uses an element once it exists. */
async function onElement(
  session: BrowserSession,
  selector: string,
  timeoutMs: number,
  use: (element: Locator) => Promise<unknown>,
): Promise<ActionOutcome> {
  try {
    await session.pages.wait(timeoutMs, (page, timeout) => page.locator(selector).first().waitFor({ state: 'attached', timeout }));
    await use(session.pages.current.locator(selector));
    return {};
  } catch (error) {
    throw elementProblem(selector, error, timeoutMs, await countOf(session, session.pages.current, selector));
  }
}

/** The time limit for counting, in milliseconds. */
const countTime = 1_000;

const countOf = (session: BrowserSession, page: Page, selector: string): Promise<number | undefined> =>
  session.askPage(() => page.locator(selector).count(), countTime).catch(() => undefined);

async function waitFor(
  session: BrowserSession,
  page: Page,
  action: BrowserAction & { kind: 'wait_for' },
  /** The time limit of the action and the remaining time, in milliseconds. */
  { timeoutMs, timeout }: { timeoutMs: number; timeout: number },
): Promise<ActionOutcome> {
  const { selector, text, url, gone } = action;
  if (selector !== undefined) {
    try {
      await page.locator(selector).first().waitFor({ timeout });
      return {};
    } catch (error) {
      throw elementProblem(selector, error, timeoutMs, await countOf(session, page, selector));
    }
  }
  if (gone !== undefined) {
    try {
      await page.locator(gone).first().waitFor({ state: 'hidden', timeout });
      return {};
    } catch (error) {
      throw actionProblem(`\`${gone}\` did not disappear`, error, timeoutMs);
    }
  }
  try {
    if (text !== undefined) await page.getByText(text).first().waitFor({ timeout });
    else await page.waitForURL(urlPattern(url ?? '*'), { timeout });
    return {};
  } catch (error) {
    const problem =
      text === undefined ? `the page did not reach ${url} (it was at ${publicUrl(page.url())})` : `the page did not contain "${text}"`;
    throw actionProblem(problem, error, timeoutMs);
  }
}

const urlPattern = (url: string): RegExp =>
  new RegExp(
    `^${url
      .split('*')
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
  );

async function extract(session: BrowserSession, action: BrowserAction & { kind: 'extract' }, timeoutMs: number): Promise<ActionOutcome> {
  const { selector, attribute, all } = action;
  const timeout = timeoutMs;
  let value: ActionOutcome['value'] = null;
  // With `all`, there might not be any matching element.
  if (all) {
    const texts = await session.askPage(() => readAll(session.pages.current.locator(selector), attribute), timeoutMs);
    return { value: texts.map(textFrom) };
  }
  await onElement(session, selector, timeout, async (element) => {
    if (attribute === undefined) value = textFrom(await element.innerText({ timeout }));
    // The current content of a field, not the content when the page was loaded.
    else if (attribute === 'value')
      value = textFrom(await element.inputValue({ timeout }).catch(() => element.getAttribute('value', { timeout })));
    else value = textFrom(await element.getAttribute(attribute, { timeout }));
  });
  return { value };
}

/** The text that a page returned, shortened; null for anything else, because scripts of the page can replace the functions that read it. */
const textFrom = (value: unknown): string | null => (typeof value === 'string' ? value.slice(0, maxTextLength) : null);

/** The texts of the first elements. The page shortens them, because it might have millions. */
const readAll = (elements: Locator, attribute: string | undefined): Promise<unknown[]> =>
  elements.evaluateAll(
    (nodes, { name, count, length }) =>
      nodes.slice(0, count).map((node) => {
        const text: unknown = name === undefined ? (node as unknown as { innerText: unknown }).innerText : node.getAttribute(name);
        return typeof text === 'string' ? text.slice(0, length) : null;
      }),
    { name: attribute, count: maxTexts, length: maxTextLength },
  );

async function download(session: BrowserSession, selector: string, timeoutMs: number): Promise<ActionOutcome> {
  let download: Download | undefined;
  await onElement(session, selector, timeoutMs, async (element) => {
    download = await session.downloadOf(() => element.click({ timeout: timeoutMs }), timeoutMs);
  });
  if (download === undefined) throw browseFailed(`\`${selector}\` did not start a download within ${formatDuration(timeoutMs)}`);
  return { download };
}
