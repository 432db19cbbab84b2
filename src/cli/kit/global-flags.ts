/** The flags that every command accepts. */
import { colorModes, outputFormats } from '../../config/settings.ts';
import { type CommandInput, choice, duration, flag, type Options, text } from './flags.ts';

export const globalFlags = {
  profile: text('NAME', 'Use this profile', { complete: 'profiles' }),
  team: text('ID', 'Act on this team'),
  baseUrl: text('URL', 'Address of the service'),
  output: choice(outputFormats, `Output format: ${outputFormats.join(', ')}`, { short: 'o', metavar: 'FORMAT' }),
  json: flag('Same as --output json'),
  fields: text('a,b.c', 'Print only these fields of the result'),
  jq: text('EXPR', 'Filter the JSON result with a jq expression'),
  template: text('TEXT', 'Print each row with a Liquid template'),
  color: choice(colorModes, 'When to use colour'),
  quiet: flag('Print only the result', { short: 'q' }),
  debug: flag('Trace requests on stderr, without secrets'),
  noInput: flag('Never prompt for input'),
  yes: flag('Answer yes to confirmations', { short: 'y' }),
  caFile: text('FILE', 'Also trust the certificate authorities in this PEM file', { complete: 'files' }),
  clientCert: text('FILE', 'Client certificate (PEM), for services that require one', { complete: 'files' }),
  clientKey: text('FILE', 'Private key (PEM) of --client-cert', { complete: 'files' }),
  timeout: duration('Give up after this time (exit 9)'),
  maxWait: duration('Longest wait for a rate limit (default: 60s)'),
} as const satisfies Options;

export type GlobalFlags = CommandInput<Record<never, never>, typeof globalFlags>;

/** The flags of every command that changes something. */
export const changeFlags = {
  idempotencyKey: text('KEY', 'Idempotency key of the change; with the same key it is carried out only once'),
  dryRun: flag('Print the request instead of sending it'),
} as const satisfies Options;

export type ChangeFlags = Partial<CommandInput<Record<never, never>, typeof changeFlags>>;
