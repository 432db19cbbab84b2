/** The certificate of a service that speaks TLS: what others on this machine know it by, and how it is read again. */

import type { Context } from '../../cli/kit/context.ts';
import type { Service } from '../../service/service.ts';
import { type ListeningInput, readTls } from './listening.ts';

/** Of a chain, the one of the service itself. */
export const firstCertificate = (chain: string): string => /-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/.exec(chain)?.[0] ?? chain;

/** Reads the certificate again, and returns it. One that is wrong is told, and the one before goes on. */
export async function reloadTls(
  context: Context,
  service: Service,
  input: Pick<ListeningInput, 'tlsCert' | 'tlsKey'>,
): Promise<string | undefined> {
  try {
    const pair = await readTls(context, input);
    if (pair !== undefined) service.setTls(pair);
    context.terminal.note('The TLS certificate was read again.');
    return pair?.cert;
  } catch (error) {
    context.terminal.warn(`The TLS certificate stays as it is: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
