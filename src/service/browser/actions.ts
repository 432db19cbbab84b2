/** What can be done in a browser, one action at a time. What a page refuses is a ServiceError 400 `browse_failed`. */
import type { Download, Locator, Page } from 'playwright-core';
import { actionProblem, browseFailed, elementProblem, navigationProblem } from './problems.ts';
import type { BrowserSession } from './session.ts';

export type BrowserAction =
  | { kind: 'open'; url: string }
  | { kind: 'click'; selector: string }
  | { kind: 'fill'; selector: string; text: string }
  | { kind: 'press'; key: string }
  | { kind: 'select'; selector: string; option: string }
  | { kind: 'upload'; selector: string; file: { name: string; mimeType: string; buffer: Buffer } }
  /** One of them. `url` may contain * for any text. */
  | { kind: 'wait_for'; selector?: string; text?: string; url?: string; gone?: string }
  | { kind: 'extract'; selector: string; attribute?: string; all?: boolean }
  | { kind: 'screenshot' }
  | { kind: 'download'; selector: string };

/** What came of an action. */
export interface ActionOutcome {
  /** HTTP status of the page that was opened. */
  status?: number;
  /** What was extracted. */
  value?: string | null | (string | null)[];
  /** What is being downloaded. */
  download?: Download;
}

/** Characters of an extracted text, and how many of them are kept with `all`. */
const longestText = 64 * 1024;
const mostTexts = 1_000;

/** Does an action on the page in front. `timeoutMs` bounds each wait for the page. */
export async function perform(session: BrowserSession, action: BrowserAction, timeoutMs: number): Promise<ActionOutcome> {
  const outcome = await act(session, action, timeoutMs);
  // What an action has set off is part of it, such as the page that a link leads to.
  if (changesPage(action)) await session.page.waitForLoadState('load', { timeout: timeoutMs }).catch(() => undefined);
  return outcome;
}

/** Whether a text goes where nobody may read it: into a password field. Throws as an action does when there is no such field. */
export async function isSecret(session: BrowserSession, selector: string, timeoutMs: number): Promise<boolean> {
  let type: string | null = null;
  await onElement(session, selector, timeoutMs, async (element) => {
    type = await element.getAttribute('type', { timeout: timeoutMs });
  });
  return (type as string | null)?.toLowerCase() === 'password';
}

const changesPage = ({ kind }: BrowserAction): boolean => !['open', 'extract', 'screenshot', 'download'].includes(kind);

async function act(session: BrowserSession, action: BrowserAction, timeoutMs: number): Promise<ActionOutcome> {
  const { page } = session;
  const on = (selector: string, use: (element: Locator) => Promise<unknown>): Promise<ActionOutcome> =>
    onElement(session, selector, timeoutMs, use);
  const timeout = timeoutMs;
  switch (action.kind) {
    case 'open':
      return await open(session, action.url, timeoutMs);
    case 'click':
      return await on(action.selector, (element) => element.click({ timeout }));
    case 'fill':
      return await on(action.selector, async (element) => {
        await element.fill(action.text, { timeout });
        if (action.text.trim() !== '') await requireTaken(session, element);
      });
    case 'select':
      return await on(action.selector, (element) => element.selectOption(action.option, { timeout }));
    case 'upload':
      return await on(action.selector, (element) => element.setInputFiles(action.file, { timeout }));
    case 'press':
      try {
        await session.answered(() => page.keyboard.press(action.key), timeoutMs);
        return {};
      } catch (error) {
        throw actionProblem(`the key \`${action.key}\` could not be pressed`, error, timeoutMs);
      }
    case 'wait_for':
      return await session.wait((front) => waitFor(session, front, action, timeoutMs));
    case 'extract':
      return await extract(session, action, timeoutMs);
    case 'download':
      return await download(session, action.selector, timeoutMs);
    case 'screenshot':
      return {};
  }
}

async function open(session: BrowserSession, url: string, timeoutMs: number): Promise<ActionOutcome> {
  const { page, refused } = session;
  const shown = shownUrl(url);
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined || !['http:', 'https:'].includes(address.protocol))
    throw browseFailed(`\`${shown}\` cannot be opened: an address begins with http:// or https://`);
  try {
    const response = await page.goto(url, { timeout: timeoutMs });
    if (!refused.has(address.host)) return response === null ? {} : { status: response.status() };
  } catch (error) {
    if (!refused.has(address.host)) throw navigationProblem(shown, error, timeoutMs);
  }
  throw browseFailed(
    `${shown} was not opened: ${address.host} is no public address, and this service browses public ones only (--browse public)`,
  );
}

/** An address without the name and password that may be in it. */
export function shownUrl(url: string): string {
  if (!URL.canParse(url)) return url;
  const shown = new URL(url);
  if (shown.username === '' && shown.password === '') return url;
  [shown.username, shown.password] = ['', ''];
  return shown.href;
}

/** How fields take what a person sees in another form; a browser leaves them empty otherwise, and says nothing. */
const written: Record<string, string> = {
  date: '2026-07-18',
  'datetime-local': '2026-07-18T09:30',
  month: '2026-07',
  time: '09:30',
  week: '2026-W29',
};

/** Throws when a field that was filled is empty because it takes another form. */
async function requireTaken(session: BrowserSession, element: Locator): Promise<void> {
  const emptyTypes = () =>
    element.evaluateAll((found) =>
      (found as unknown as { type: string; value: string }[]).filter(({ value }) => value === '').map(({ type }) => type),
    );
  // None when the page has gone on meanwhile.
  const [type] = await session.answered(emptyTypes, countTime).catch(() => []);
  const form = type === undefined ? undefined : written[type];
  if (form !== undefined) throw new Error(`the field takes what is written like ${form}, and nothing else`);
}

/** Uses an element once it is there. */
async function onElement(
  session: BrowserSession,
  selector: string,
  timeoutMs: number,
  use: (element: Locator) => Promise<unknown>,
): Promise<ActionOutcome> {
  try {
    await session.wait((page) => page.locator(selector).first().waitFor({ state: 'attached', timeout: timeoutMs }));
    await use(session.page.locator(selector));
    return {};
  } catch (error) {
    throw elementProblem(selector, error, timeoutMs, await countOf(session, session.page, selector));
  }
}

/** Milliseconds that counting may take. */
const countTime = 1_000;

const countOf = (session: BrowserSession, page: Page, selector: string): Promise<number | undefined> =>
  session.answered(() => page.locator(selector).count(), countTime).catch(() => undefined);

async function waitFor(
  session: BrowserSession,
  page: Page,
  action: BrowserAction & { kind: 'wait_for' },
  timeoutMs: number,
): Promise<ActionOutcome> {
  const { selector, text, url, gone } = action;
  const timeout = timeoutMs;
  if (selector !== undefined) {
    try {
      await page.locator(selector).first().waitFor({ timeout });
      return {};
    } catch (error) {
      throw elementProblem(selector, error, timeout, await countOf(session, page, selector));
    }
  }
  if (gone !== undefined) {
    try {
      await page.locator(gone).first().waitFor({ state: 'hidden', timeout });
      return {};
    } catch (error) {
      throw actionProblem(`\`${gone}\` did not go away`, error, timeout);
    }
  }
  try {
    if (text !== undefined) await page.getByText(text).first().waitFor({ timeout });
    else await page.waitForURL(urlPattern(url ?? '*'), { timeout });
    return {};
  } catch (error) {
    const what = text === undefined ? `the page was at ${shownUrl(page.url())} and not at ${url}` : `the page did not say "${text}"`;
    throw actionProblem(what, error, timeout);
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
  const cut = (text: string | null): string | null => text?.slice(0, longestText) ?? null;
  let value: ActionOutcome['value'];
  // There may be none of them.
  if (all) {
    const texts = await session.answered(() => readAll(session.page.locator(selector), attribute), timeoutMs);
    return { value: texts.slice(0, mostTexts).map(cut) };
  }
  await onElement(session, selector, timeout, async (element) => {
    if (attribute === undefined) value = cut(await element.innerText({ timeout }));
    // What a field holds now, not what it held when the page was loaded.
    else if (attribute === 'value')
      value = cut(await element.inputValue({ timeout }).catch(() => element.getAttribute('value', { timeout })));
    else value = cut(await element.getAttribute(attribute, { timeout }));
  });
  return { value: value ?? null };
}

const readAll = (elements: Locator, attribute: string | undefined): Promise<(string | null)[]> =>
  attribute === undefined
    ? elements.allInnerTexts()
    : elements.evaluateAll((found, name) => found.map((one) => one.getAttribute(name)), attribute);

async function download(session: BrowserSession, selector: string, timeoutMs: number): Promise<ActionOutcome> {
  let expected: Promise<Download> | undefined;
  await onElement(session, selector, timeoutMs, async (element) => {
    expected = session.page.waitForEvent('download', { timeout: timeoutMs });
    // Its failure is looked at below, after the click's.
    expected.catch(() => undefined);
    await element.click({ timeout: timeoutMs });
  });
  try {
    return { download: (await expected) as Download };
  } catch (error) {
    throw actionProblem(`\`${selector}\` downloaded nothing`, error, timeoutMs);
  }
}
