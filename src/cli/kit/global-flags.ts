/** The flags every command takes. */
import { colorModes, outputFormats } from '../../config/settings.ts';
import { type CommandInput, choice, duration, flag, type Options, text } from './flags.ts';

export const globalFlags = {
  profile: text('NAME', 'Use this profile', { complete: 'profiles' }),
  team: text('ID', 'Act on this team'),
  baseUrl: text('URL', 'Address of the service'),
  output: choice(outputFormats, `Output format: ${outputFormats.join(', ')}`, { short: 'o', metavar: 'FORMAT' }),
  json: flag('Same as --output json'),
  fields: text('a,b.c', 'Only these fields of the result'),
  jq: text('EXPR', 'Filter the JSON result with a jq expression'),
  color: choice(colorModes, 'When to use colour'),
  quiet: flag('Say nothing but the result', { short: 'q' }),
  debug: flag('Trace requests on stderr, without secrets'),
  noInput: flag('Never ask anything'),
  yes: flag('Answer yes to confirmations', { short: 'y' }),
  caFile: text('FILE', 'Trust the certificate authorities in this PEM file too', { complete: 'files' }),
  clientCert: text('FILE', 'Identify with this certificate (PEM) where the service asks for one', { complete: 'files' }),
  clientKey: text('FILE', 'Private key (PEM) of --client-cert', { complete: 'files' }),
  timeout: duration('Give up after this long (exit 9)'),
  maxWait: duration('Longest pause a rate limit may ask for (default 60s)'),
} as const satisfies Options;

export type GlobalFlags = CommandInput<Record<never, never>, typeof globalFlags>;

/** Flags of every command that changes something. */
export const changeFlags = {
  idempotencyKey: text('KEY', 'Send the change with this key: again with the same key, it happens only once'),
  dryRun: flag('Print the request that would change something, and send nothing'),
} as const satisfies Options;

export type ChangeFlags = Partial<CommandInput<Record<never, never>, typeof changeFlags>>;
