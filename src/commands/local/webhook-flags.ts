/** The flags for the hosts that webhooks can reach, and for the time between attempts. */
import { UsageError } from '../../base/errors.ts';
import type { LocalState } from '../../cli/connect/local-state.ts';
import { text, texts } from '../../cli/kit/flags.ts';
import { withOwnMachine } from './outbound-hosts.ts';

export const webhookOptions = {
  allowWebhookHost: texts(
    'HOST|CIDR',
    'Allow webhooks to this host: a name, *.NAME, an address, a range, "loopback" for this machine, or "public" for the internet; can be repeated (default: none; `local up` adds loopback)',
  ),
  webhookTimeScale: text('N', 'Multiply the time between attempts by this factor, for tests (default: 1)', { check: scaleCheck }),
} as const;

export interface WebhookInput {
  allowWebhookHost: string[];
  webhookTimeScale: string | undefined;
}

function scaleCheck(value: string, name: string): string {
  if (/^\d{1,4}(\.\d{1,6})?$/.test(value) && Number(value) > 0) return value;
  throw new UsageError(`${name} must be a number greater than 0, such as 0.01; "${value}" is not valid.`);
}

/** The options for the service. */
export const webhookSettings = ({ allowWebhookHost, webhookTimeScale }: WebhookInput) => ({
  allow: allowWebhookHost,
  ...(webhookTimeScale === undefined ? {} : { timeScale: Number(webhookTimeScale) }),
});

/** The arguments that `local up` passes to `aops serve`. */
export const webhookArguments = ({ allowWebhookHost, webhookTimeScale }: WebhookInput): string[] => [
  ...withOwnMachine(allowWebhookHost).flatMap((host) => ['--allow-webhook-host', host]),
  ...(webhookTimeScale === undefined ? [] : ['--webhook-time-scale', webhookTimeScale]),
];

/** Whether the running service does not match the requested options. */
export const differsInWebhooks = ({ webhook_hosts = [] }: LocalState, { allowWebhookHost, webhookTimeScale }: WebhookInput): boolean =>
  webhookTimeScale !== undefined || allowWebhookHost.some((host) => !webhook_hosts.includes(host));
