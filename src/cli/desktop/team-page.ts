/** `--web`: opens the page of the service that shows the same thing. Only a service that announces its page has one. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';
import { isObject } from '../../base/values.ts';
import type { Client } from '../../client/client.ts';
import { publishedContract } from '../connect/contract.ts';
import type { Context } from '../kit/context.ts';
import { flag } from '../kit/flags.ts';
import { openUrl } from './open.ts';

export const webFlag = { web: flag('Open it in a browser instead') } as const;

/**
 * Opens a view of the team page, such as `/runs/ID`. Without a terminal or a browser, prints its URL. Resolves to undefined, which is the
 * result of a command that shows nothing itself.
 * @throws AopsError `page_not_announced`
 */
export async function openTeamPage(context: Context, view: string): Promise<undefined> {
  const client = await context.client();
  const page = pageOf(await publishedContract(client), client.baseUrl);
  if (page === undefined)
    throw new AopsError('This service does not announce a page for browsers.', {
      code: 'page_not_announced',
      exit: exitCodes.notFound,
      hint: 'Leave out --web to see it here.',
    });
  const code = await signInCode(client);
  const url = `${page}#${code === undefined ? view : `code=${code}&view=${view}`}`;
  const { terminal } = context;
  if (terminal.out.isTTY && (await openUrl(context, url))) {
    terminal.note(`Opened ${page}#${view}`);
    return undefined;
  }
  if (terminal.out.isTTY) terminal.note('No browser could be opened. Open this URL in a browser:');
  await terminal.line(url);
  return undefined;
}

/** The announced address of the page. It may differ from that of the interface, but not be less protected. */
export function pageOf(contract: unknown, baseUrl: string): string | undefined {
  const announced = isObject(contract) ? contract['x-team-page'] : undefined;
  if (typeof announced !== 'string' || !URL.canParse(announced, baseUrl)) return undefined;
  const url = new URL(announced, `${baseUrl}/`);
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
