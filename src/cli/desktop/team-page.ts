/** `--web`: opens the page of the service that shows the same thing. Only a service that announces its page has one. */
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';
import { isObject } from '../../base/values.ts';
import type { Client } from '../../client/client.ts';
import { publishedContract } from '../connect/service-contract.ts';
import type { Context } from '../kit/context.ts';
import { flag, flagName } from '../kit/flags.ts';
import { openUrl } from './open.ts';

export const webFlag = { web: flag('Open this in a browser instead of printing it') } as const;

/** Filters in the address of a view. Those without a value are left out; a list repeats the filter. */
export type PageFilters = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The address of a view with filters: `/queues/ID?status=failed`. */
export function pageView(path: string, filters: PageFilters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) for (const item of [value ?? []].flat()) query.append(name, item);
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Why the page has no counterpart of the flags that choose rows. */
export const pagedByPage = {
  limit: 'the page shows more with a button',
  offset: 'the page shows a list from its beginning',
  all: 'the page shows more with a button',
} as const;

const notPrinted = 'the result is shown in the browser';
/** Flags that choose how a result is printed. */
const shownInBrowser = { json: notPrinted, output: notPrinted, fields: notPrinted, jq: notPrinted, template: notPrinted } as const;

/**
 * Refuses flags that would have no effect on the page.
 * @param input the options of a command
 * @param reasons by key of the option, why the page has no counterpart
 * @throws UsageError that contains the reason
 */
export function refuseWithWeb(input: object, reasons: Readonly<Record<string, string>>): void {
  const values = new Map<string, unknown>(Object.entries(input));
  for (const [key, reason] of Object.entries(reasons)) {
    const value = values.get(key);
    if (value === undefined || value === false || (Array.isArray(value) && value.length === 0)) continue;
    throw new UsageError(
      `--web and ${flagName(key)} cannot be combined: ${reason}.`,
      `Leave out ${flagName(key)}, or leave out --web to see the result here.`,
    );
  }
}

/**
 * Opens a view of the team page, such as `/runs/ID`. Without a terminal or a browser, prints its URL. Resolves to undefined, the result of
 * a command that prints nothing itself.
 * @throws AopsError `page_not_announced`, UsageError for a flag that chooses how the result is printed
 */
export async function openTeamPage(context: Context, view: string): Promise<undefined> {
  refuseWithWeb(context.flags, shownInBrowser);
  const client = await context.client();
  const page = pageOf(await publishedContract(client), client.baseUrl);
  if (page === undefined)
    throw new AopsError('This service does not announce a page for browsers.', {
      code: 'page_not_announced',
      exit: exitCodes.notFound,
      hint: 'Leave out --web to see it here.',
    });
  const code = await signInCode(client);
  const url = pageUrl(page, view, code);
  const { terminal } = context;
  if (terminal.out.isTTY && (await openUrl(context, url))) {
    terminal.note(`Opened ${page}#${view}`);
    return undefined;
  }
  if (terminal.out.isTTY) terminal.note('No browser could be opened. Open this URL in a browser:');
  await terminal.line(url);
  return undefined;
}

/** The URL of a view. With a code, it signs the browser in. */
export const pageUrl = (page: string, view: string, code: string | undefined): string =>
  `${page}#${code === undefined ? view : `code=${code}&view=${encodeURIComponent(view).replaceAll('%2F', '/')}`}`;

/** The announced address of the page. It may differ from that of the interface, but not be less protected. */
export function pageOf(contract: unknown, baseUrl: string): string | undefined {
  const announcedUrl = isObject(contract) ? contract['x-team-page'] : undefined;
  if (typeof announcedUrl !== 'string' || !URL.canParse(announcedUrl, baseUrl)) return undefined;
  const url = new URL(announcedUrl, `${baseUrl}/`);
  const isProtected = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  return isProtected && url.username === '' && url.hash === '' ? url.href : undefined;
}

/** A code that signs the browser in, if this credential may create one; otherwise the page asks for a token. */
async function signInCode(client: Client): Promise<string | undefined> {
  try {
    return (await client.call('createPageCode', {})).code;
  } catch (error) {
    if (error instanceof AopsError && [403, 404, 405].includes(error.details.status ?? 0)) return undefined;
    throw error;
  }
}
