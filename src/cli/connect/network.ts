/** How this machine gets to the service: proxies of the environment, certificates of the settings. Reads files only where named. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';
import type { Certificates, Network } from '../../client/network/network.ts';
import { originOf } from '../../config/base-url.ts';
import { proxiesOf, proxySecrets } from '../../config/proxy.ts';
import type { Resolved } from '../../config/resolved.ts';
import type { FileSettingKey } from '../../config/settings.ts';
import type { Context } from '../kit/context.ts';

/** What is connected to with a credential. */
export interface Destination {
  /** The service, and the token endpoint where there is one. */
  urls: readonly string[];
  /** Whether the credential is kept on disk, or about to be. */
  stored: boolean;
}

/** @throws UsageError for a proxy or a file that cannot be used, AopsError `tls_verification_off` */
export async function networkTo(context: Context, destination: Destination): Promise<Network> {
  checkVerification(context, destination);
  for (const secret of proxySecrets(context.env)) context.terminal.protect(secret);
  const proxyFor = proxiesOf(context.env);
  // A bad proxy is told here, where the command can end with it; it is not needed yet.
  for (const url of destination.urls) proxyFor?.(new URL(url));
  const certificates = await readCertificates(context, destination.urls.map(originOf));
  return { ...(proxyFor ? { proxyFor } : {}), ...(certificates ? { certificates } : {}) };
}

/** Node's own switch against verification: too dangerous for a credential that is kept, and worth a warning otherwise. */
function checkVerification({ env, terminal }: Context, { urls, stored }: Destination): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return;
  const encrypted = urls.map((url) => new URL(url)).filter(({ protocol }) => protocol === 'https:');
  const elsewhere = encrypted.find(({ hostname }) => !isLoopback(hostname));
  const what = 'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the verification of TLS certificates';
  const instead = 'Unset it; where the certificate comes from an authority of your own, give that with --ca-file FILE.';
  if (stored && elsewhere) {
    throw new AopsError(`${what}: a stored credential is not sent to ${elsewhere.host} that way.`, {
      code: 'tls_verification_off',
      exit: exitCodes.usage,
      hint: instead,
    });
  }
  if (encrypted.length > 0)
    terminal.warn(`WARNING: ${what}. Anyone on the way can read the credential and change what is sent. ${instead}`);
}

async function readCertificates(context: Context, origins: readonly string[]): Promise<Certificates | undefined> {
  const { ca_file, client_cert, client_key } = context.config();
  const [given, certificate, separateKey] = await Promise.all([
    readPem(context, 'ca_file', ca_file, 'CERTIFICATE'),
    readPem(context, 'client_cert', client_cert, 'CERTIFICATE'),
    readPem(context, 'client_key', client_key, 'PRIVATE KEY'),
  ]);
  if (given === undefined && certificate === undefined && separateKey === undefined) return undefined;
  const authorities = given === undefined ? undefined : `${given}\n${await extraAuthorities(context)}`;
  // A key in the same file is usual too.
  const key = separateKey ?? (certificate?.includes('PRIVATE KEY-----') ? certificate : undefined);
  if ((certificate === undefined) !== (key === undefined)) {
    const [there, missing] = certificate === undefined ? [client_key, '--client-cert'] : [client_cert, '--client-key'];
    throw new UsageError(`${there.name} is given without ${missing}.`, 'A client certificate and its private key go together.');
  }
  const client = certificate === undefined || key === undefined ? {} : { client: { certificate, key, origins } };
  return { ...(authorities === undefined ? {} : { authorities }), ...client };
}

/** Naming authorities replaces those that Node took from NODE_EXTRA_CA_CERTS at its start; they are meant as well. */
async function extraAuthorities({ env, cwd }: Context): Promise<string> {
  const file = env.NODE_EXTRA_CA_CERTS;
  return file ? readFile(path.resolve(cwd, file), 'utf8').catch(() => '') : '';
}

async function readPem(
  context: Context,
  key: FileSettingKey,
  { value, name }: Resolved<string | undefined>,
  kind: 'CERTIFICATE' | 'PRIVATE KEY',
): Promise<string | undefined> {
  if (value === undefined) return undefined;
  const file = path.resolve(context.cwd, value);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `${file} (${name}) cannot be read (${error.code ?? 'unknown error'}).`,
      `Check the path, or run \`aops config explain ${key}\`.`,
    );
  });
  if (!text.includes(`${kind}-----`)) {
    throw new UsageError(
      `${file} (${name}) holds no PEM ${kind.toLowerCase()}.`,
      `It has to have a line that ends with "BEGIN ${kind}-----".`,
    );
  }
  if (kind === 'CERTIFICATE') await checkCertificates(text, `${file} (${name})`);
  return text;
}

async function checkCertificates(text: string, name: string): Promise<void> {
  const { X509Certificate } = await import('node:crypto');
  for (const [block] of text.matchAll(/-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END [A-Z0-9 ]+-----/g)) {
    try {
      new X509Certificate(block);
    } catch {
      throw new UsageError(`${name} holds a certificate that cannot be read.`, 'Check that it was copied whole.');
    }
  }
}
