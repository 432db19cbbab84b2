/** The checks of `aops doctor` for the configuration: files, address, team, credential, proxy and TLS. */

import { networkTo } from '../../cli/connect/network.ts';
import type { Context } from '../../cli/kit/context.ts';
import { proxiesOf } from '../../config/proxy.ts';
import type { ResolvedConfig } from '../../config/resolve.ts';
import { type Check, fail, failedCheck, ok, skip, warn } from './check.ts';

export interface Settings {
  checks: Check[];
  /** Undefined if the configuration does not allow requests to the service. */
  usableConfig: ResolvedConfig | undefined;
}

export async function settingsChecks(context: Context): Promise<Settings> {
  let config: ResolvedConfig;
  try {
    config = context.config();
  } catch (error) {
    const because = 'the configuration must be fixed first';
    return {
      checks: [failedCheck('configuration', error), ...['credential', 'proxy', 'tls'].map((id) => skip(id, because))],
      usableConfig: undefined,
    };
  }
  const checks = [
    configurationCheck(context, config),
    addressCheck(config),
    credentialCheck(config),
    proxyCheck(context, config),
    await tlsCheck(context, config),
  ];
  return { checks, usableConfig: checks.some(({ status }) => status === 'fail') ? undefined : config };
}

function configurationCheck({ store }: Context, { profile }: ResolvedConfig): Check {
  const [warning] = store.warnings;
  if (warning !== undefined) return warn('configuration', warning, `Check the files in ${store.directory}.`);
  return ok('configuration', profile.value === undefined ? 'no profile' : `profile ${profile.value}, from ${profile.name}`);
}

function addressCheck({ base_url, team_id }: ResolvedConfig): Check {
  const hint = 'Sign in with `aops auth login`, or start a local service with `aops local up`.';
  if (base_url.value === undefined) return fail('address', 'no service is configured', hint);
  if (team_id.value === undefined) return fail('address', `${base_url.value}, but no team`, 'Specify it with --team or AOPS_TEAM_ID.');
  return ok('address', `${base_url.value} from ${base_url.name}, team ${team_id.value} from ${team_id.name}`);
}

function credentialCheck({ credential, credential_problem: problem }: ResolvedConfig): Check {
  if (problem) return failedCheck('credential', problem);
  if (!credential.value) return fail('credential', 'not signed in', 'Sign in with `aops auth login`.');
  const shadowedValue = credential.shadowed[0];
  const detail = `${credential.masked} from ${credential.name}`;
  return ok('credential', shadowedValue ? `${detail}, which overrides ${shadowedValue.name}` : detail);
}

function proxyCheck({ env }: Context, { base_url }: ResolvedConfig): Check {
  try {
    const proxy = base_url.value === undefined ? undefined : proxiesOf(env)?.(new URL(base_url.value));
    return ok('proxy', proxy ? `${proxy.origin} from ${proxy.variable}` : 'none');
  } catch (error) {
    return failedCheck('proxy', error);
  }
}

async function tlsCheck(context: Context, { base_url, ca_file, client_cert, credential }: ResolvedConfig): Promise<Check> {
  if (base_url.value === undefined) return skip('tls', 'no service is configured');
  if (base_url.value.startsWith('http:')) return ok('tls', 'not used: the service is on this machine');
  const isVerificationOff = context.env.NODE_TLS_REJECT_UNAUTHORIZED === '0';
  if (isVerificationOff)
    return fail(
      'tls',
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns off the verification of certificates',
      'Unset it, and add your certificate authority with --ca-file.',
    );
  try {
    await networkTo(context, { urls: [base_url.value], isStored: credential.source === 'profile' });
  } catch (error) {
    return failedCheck('tls', error);
  }
  const parts = [
    ca_file.value && `certificate authorities from ${ca_file.value}`,
    client_cert.value && `client certificate ${client_cert.value}`,
  ].filter(Boolean);
  return ok('tls', parts.length === 0 ? 'default certificate authorities' : parts.join(', '));
}
