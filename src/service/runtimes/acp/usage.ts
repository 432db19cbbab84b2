/** What agents report about their consumption. Like everything that they send, it may not follow the protocol. */
import { isObject } from '../../../base/values.ts';
import type { AgentUsage } from '../run-host.ts';

/** The content of a `usage_update`; undefined if it does not follow the protocol. */
export function usageOf({ used, size, cost }: { used?: unknown; size?: unknown; cost?: unknown }): AgentUsage | undefined {
  return isCount(used) && isCount(size) ? { contextTokens: used, contextSize: size, cost: costOf(cost) } : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Null if the agent does not report it, or not as the protocol defines it. */
function costOf(cost: unknown): AgentUsage['cost'] {
  if (!isObject(cost) || typeof cost.amount !== 'number' || typeof cost.currency !== 'string') return null;
  return { amount: cost.amount, currency: cost.currency };
}
