/**
 * Links to the team page in messages to people. A link is signed, names one run of one team, and expires. It grants nothing: it leads to
 * the run on the page, where the reader has to be signed in, and where only a form that the reader sends decides anything. So it does
 * not matter that bots of chat programs open links, and that messages are forwarded.
 */
import type { UrlSigner } from './signed-urls.ts';

/** Seconds for which a link works. */
export const linkSeconds = 7 * 24 * 60 * 60;

interface Target {
  teamId: string;
  runId: string;
  /** The human request that the link is about. */
  requestId?: string | undefined;
}

export class PageLinks {
  #signer: UrlSigner | undefined;
  #baseUrl = '';

  /** Called once the address is known. @param baseUrl where people reach the service, without a slash at the end */
  open(signer: UrlSigner, baseUrl: string): void {
    this.#signer = signer;
    this.#baseUrl = baseUrl;
  }

  /**
   * A link to a run. It depends on the time of the event, not on that of the call, so that every attempt of a delivery has the same body.
   * @param at milliseconds
   */
  linkTo({ teamId, runId, requestId }: Target, at: number): string | undefined {
    const grant = { kind: 'open_run', teamId, runId, ...(requestId === undefined ? {} : { requestId }) } as const;
    const signed = this.#signer?.sign(grant, at, linkSeconds);
    return signed === undefined ? undefined : `${this.#baseUrl}/open/${signed.token}`;
  }
}
