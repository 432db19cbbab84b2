/** The certificate of a service with TLS: the part that identifies it on this machine, and how to reload it. */

import { messageOf } from '../../base/errors.ts';
import type { Context } from '../../cli/kit/context.ts';
import type { Service } from '../../service/service.ts';
import { type ListeningInput, readTls } from './listening.ts';

/** The certificate of the service itself, from a chain. */
export const firstCertificate = (chain: string): string => /-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/.exec(chain)?.[0] ?? chain;

/** Reloads the certificate and returns it. An invalid one is reported, and the previous one remains in use. */
export async function reloadTls(
  context: Context,
  service: Service,
  input: Pick<ListeningInput, 'tlsCert' | 'tlsKey'>,
): Promise<string | undefined> {
  try {
    const pair = await readTls(context, input);
    if (pair !== undefined) service.setTls(pair);
    context.terminal.note('The TLS certificate was reloaded.');
    return pair?.cert;
  } catch (error) {
    context.terminal.warn(`The TLS certificate was not reloaded: ${messageOf(error)}`);
    return undefined;
  }
}
