/** Lets the services of tests connect to servers of the tests, unless a test sets its own rules. */
import type { ServiceOptions } from '../../src/service/service.ts';

const allow = ['loopback'];

export const reachingTests = ({ webhooks, connections }: Partial<ServiceOptions>): Pick<ServiceOptions, 'webhooks' | 'connections'> => ({
  webhooks: { allow, ...webhooks },
  connections: { allow, ...connections },
});
