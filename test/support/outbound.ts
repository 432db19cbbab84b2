/** Services of tests may reach what the tests themselves listen with, unless a test says where they may go. */
import type { ServiceOptions } from '../../src/service/service.ts';

const allow = ['loopback'];

export const reachingTests = ({ webhooks, connections }: Partial<ServiceOptions>): Pick<ServiceOptions, 'webhooks' | 'connections'> => ({
  webhooks: { allow, ...webhooks },
  connections: { allow, ...connections },
});
