/** How this machine reaches the service: proxies from the environment, certificates from the settings. Only reads files that are named. */
import fs from 'node:fs';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';
import type { Certificates, Network } from '../../client/network/network.ts';
import { originOf } from '../../config/base-url.ts';
import { proxiesOf, proxySecrets } from '../../config/proxy.ts';
import type { ResolvedValue } from '../../config/resolved.ts';
import type { FileSettingKey } from '../../config/settings.ts';
import type { Context } from '../kit/context.ts';

/** The addresses to which a credential is sent. */
export interface Destination {
  /** The service, and the token endpoint if there is one. */
  urls: readonly string[];
  /** Whether the credential is stored on disk, or about to be. */
  isStored: boolean;
}

/** @throws UsageError for a proxy or a file that cannot be used, AopsError `tls_verification_off` */
export async function networkTo(context: Context, destination: Destination): Promise<Network> {
  checkVerification(context, destination);
  for (const secret of proxySecrets(context.env)) context.terminal.protect(secret);
  const proxyFor = proxiesOf(context.env);
  // An invalid proxy is reported here, where it can end the command, although it is not needed yet.
  for (const url of destination.urls) proxyFor?.(new URL(url));
  const certificates = await readCertificates(context, destination.urls.map(originOf));
  return { ...(proxyFor ? { proxyFor } : {}), ...(certificates ? { certificates } : {}) };
}

/** Node's own switch to disable verification: too dangerous for a stored credential, and worth a warning otherwise. */
function checkVerification({ env, terminal }: Context, { urls, isStored }: Destination): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return;
  const secureUrls = urls.map((url) => new URL(url)).filter(({ protocol }) => protocol === 'https:');
  const remoteUrl = secureUrls.find(({ hostname }) => !isLoopback(hostname));
  const problem = 'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the verification of TLS certificates';
  const hint = 'Unset it. If the certificate was issued by your own authority, pass that with --ca-file FILE.';
  if (isStored && remoteUrl) {
    throw new AopsError(`${problem}, so a stored credential is not sent to ${remoteUrl.host}.`, {
      code: 'tls_verification_off',
      exit: exitCodes.usage,
      hint,
    });
  }
  if (secureUrls.length > 0)
    terminal.warn(`WARNING: ${problem}. Anyone between here and the service can read the credential and change requests. ${hint}`);
}

async function readCertificates(context: Context, origins: readonly string[]): Promise<Certificates | undefined> {
  const { ca_file, client_cert, client_key } = context.config();
  const [caFile, certificate, separateKey] = await Promise.all([
    readPem(context, 'ca_file', ca_file, 'CERTIFICATE'),
    readPem(context, 'client_cert', client_cert, 'CERTIFICATE'),
    readPem(context, 'client_key', client_key, 'PRIVATE KEY'),
  ]);
  if (caFile === undefined && certificate === undefined && separateKey === undefined) return undefined;
  const authorities = caFile === undefined ? undefined : `${caFile}\n${await extraAuthorities(context)}`;
  // The certificate's file often contains the key as well.
  const key = separateKey ?? (certificate?.includes('PRIVATE KEY-----') ? certificate : undefined);
  if ((certificate === undefined) !== (key === undefined)) {
    const [present, missing] = certificate === undefined ? [client_key, '--client-cert'] : [client_cert, '--client-key'];
    throw new UsageError(`${present.name} is set without ${missing}.`, 'Pass both the client certificate and its private key.');
  }
  const client = certificate === undefined || key === undefined ? {} : { client: { certificate, key, origins } };
  return { ...(authorities === undefined ? {} : { authorities }), ...client };
}

/** Specifying authorities replaces those from NODE_EXTRA_CA_CERTS, which should still be trusted. */
async function extraAuthorities({ env, cwd }: Context): Promise<string> {
  const file = env.NODE_EXTRA_CA_CERTS;
  return file ? fs.promises.readFile(path.resolve(cwd, file), 'utf8').catch(() => '') : '';
}

async function readPem(
  context: Context,
  key: FileSettingKey,
  { value, name }: ResolvedValue<string | undefined>,
  kind: 'CERTIFICATE' | 'PRIVATE KEY',
): Promise<string | undefined> {
  if (value === undefined) return undefined;
  const file = path.resolve(context.cwd, value);
  const text = await fs.promises.readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `${file} (${name}) cannot be read (${error.code ?? 'unknown error'}).`,
      `Check the path, or run \`aops config explain ${key}\`.`,
    );
  });
  if (!text.includes(`${kind}-----`)) {
    throw new UsageError(
      `${file} (${name}) does not contain a PEM ${kind.toLowerCase()}.`,
      `It must contain a line that ends with "BEGIN ${kind}-----".`,
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
      throw new UsageError(`${name} contains an invalid certificate.`, 'Check that it was copied completely.');
    }
  }
}
