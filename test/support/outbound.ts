/** Lets the services of tests connect to servers of the tests, unless a test sets its own rules. */
import type { ServiceOptions } from '../../src/service/service.ts';

const allow = ['loopback'];

export const reachingTests = ({
  webhooks,
  push,
  connections,
}: Partial<ServiceOptions>): Pick<ServiceOptions, 'webhooks' | 'push' | 'connections'> => ({
  webhooks: { allow, ...webhooks },
  push: { allow, ...push },
  connections: { allow, ...connections },
});
