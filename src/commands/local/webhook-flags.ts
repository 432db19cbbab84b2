/** The flags that say where a service may send webhooks, and how fast it tries again. */
import { UsageError } from '../../base/errors.ts';
import type { LocalState } from '../../cli/connect/local-state.ts';
import { text, texts } from '../../cli/kit/flags.ts';
import { withOwnMachine } from './outbound-hosts.ts';

export const webhookOptions = {
  allowWebhookHost: texts(
    'HOST|CIDR',
    'Let webhooks go there: a name, *.NAME, an address, a range, loopback for this machine, or public for the internet; may be repeated (default: nowhere; `local up` adds loopback)',
  ),
  webhookTimeScale: text('N', 'Multiply the waits between attempts of a webhook by this, for tests (default 1)', { check: scaleCheck }),
} as const;

export interface WebhookInput {
  allowWebhookHost: string[];
  webhookTimeScale: string | undefined;
}

function scaleCheck(value: string, name: string): string {
  if (/^\d{1,4}(\.\d{1,6})?$/.test(value) && Number(value) > 0) return value;
  throw new UsageError(`${name} takes a number above 0, such as 0.01, not "${value}".`);
}

/** As the service takes them. */
export const webhookSettings = ({ allowWebhookHost, webhookTimeScale }: WebhookInput) => ({
  allow: allowWebhookHost,
  ...(webhookTimeScale === undefined ? {} : { timeScale: Number(webhookTimeScale) }),
});

/** As `local up` hands them to `aops serve`. */
export const webhookArguments = ({ allowWebhookHost, webhookTimeScale }: WebhookInput): string[] => [
  ...withOwnMachine(allowWebhookHost).flatMap((host) => ['--allow-webhook-host', host]),
  ...(webhookTimeScale === undefined ? [] : ['--webhook-time-scale', webhookTimeScale]),
];

/** Whether a running service lacks something that is asked for. */
export const differsInWebhooks = ({ webhook_hosts = [] }: LocalState, { allowWebhookHost, webhookTimeScale }: WebhookInput): boolean =>
  webhookTimeScale !== undefined || allowWebhookHost.some((host) => !webhook_hosts.includes(host));
