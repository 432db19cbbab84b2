/** `--route EVENT=URL`: where deliveries are forwarded to, depending on their event. Pure. */
import { UsageError } from '../../base/errors.ts';
import { type Check, webAddress } from '../../cli/kit/checks.ts';
import { invalidChoice } from '../../cli/kit/flags.ts';
import { webhookEventKinds } from '../../interface/webhook-events.ts';

/** An event, an equals sign, and an address. */
export const isRoute: Check = (value, name) => {
  const [event, url] = partsOf(value);
  if (url === undefined) throw new UsageError(`${name} must have the form EVENT=URL, not "${value}".`);
  isEvent(event, `The event of ${name}`);
  webAddress(url, `The address of ${name}`);
  return value;
};

/** A kind of event. */
export const isEvent: Check = (value, name) => {
  if (webhookEventKinds.some((kind) => kind === value)) return value;
  throw invalidChoice(webhookEventKinds, value, name);
};

/**
 * A function that returns the address for an event: that of its route, or else `forwardTo`.
 * @throws UsageError if an event has two routes
 */
export function targetsOf({ route, forwardTo }: { route: readonly string[]; forwardTo: string | undefined }) {
  const targets = new Map<string, string>();
  for (const [event, url] of route.map(partsOf)) {
    if (targets.has(event)) throw new UsageError(`--route ${event} appears twice.`, 'An event can be forwarded to one address.');
    targets.set(event, url as string);
  }
  return (event: string): string | undefined => targets.get(event) ?? forwardTo;
}

function partsOf(route: string): [event: string, url: string | undefined] {
  const separator = route.indexOf('=');
  return separator < 0 ? [route, undefined] : [route.slice(0, separator), route.slice(separator + 1)];
}
