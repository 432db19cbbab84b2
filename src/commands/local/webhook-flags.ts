/** The flags that say where a service may send webhooks, and how fast it tries again. */
import { UsageError } from '../../base/errors.ts';
import { text, texts } from '../define.ts';
import type { LocalState } from './state.ts';

export const webhookOptions = {
  allowWebhookHost: texts(
    'HOST|CIDR',
    'Let webhooks go there too: a name, *.NAME, an address, a range, or public for the internet (default: this machine alone); may be repeated',
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

/** As `aops serve` takes them. */
export const webhookArguments = ({ allowWebhookHost, webhookTimeScale }: WebhookInput): string[] => [
  ...allowWebhookHost.flatMap((host) => ['--allow-webhook-host', host]),
  ...(webhookTimeScale === undefined ? [] : ['--webhook-time-scale', webhookTimeScale]),
];

/** Whether a running service lacks something that is asked for. */
export const differsInWebhooks = ({ webhook_hosts = [] }: LocalState, { allowWebhookHost, webhookTimeScale }: WebhookInput): boolean =>
  webhookTimeScale !== undefined || allowWebhookHost.some((host) => !webhook_hosts.includes(host));

/** For people; nothing where only this machine is told. */
export const webhooksInWords = (hosts: readonly string[] | null | undefined): string | undefined =>
  hosts?.length ? `go to this machine and to ${hosts.join(', ')}` : undefined;
