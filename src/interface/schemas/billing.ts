import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { billingOperations } from '../operations/billing.ts';
import { Closed, DateTime, NamedClosed, Nullable, Uuid } from './common.ts';

const Count = Type.Integer({ minimum: 0 });
/** A limit of a plan, which can be unlimited. */
const Limit = Type.Union([Count, Type.Literal('unlimited')]);

/** Usage of a period. */
const Spent = NamedClosed('UsageInPeriod', { used: Count, limit: Limit, remaining: Limit });
/** Current usage. */
const Held = NamedClosed('UsageNow', { used: Count, limit: Limit });

/** Interface part 2.9. */
export const TeamUsage = NamedClosed('TeamUsage', {
  teamId: Uuid,
  period: Closed({ start: Nullable(DateTime), end: Nullable(DateTime) }),
  agentRuns: Spent,
  clarityInterviews: Spent,
  assignments: Held,
  concurrency: Held,
});
export type TeamUsage = Static<typeof TeamUsage>;

/** Interface part 2.10. */
export const TeamEntitlements = NamedClosed('TeamEntitlements', {
  plan: Type.String(),
  features: Type.Array(Type.String()),
  products: Type.Array(Type.String()),
  runCountingMode: Type.String(),
  maxConcurrentRuns: Type.Integer(),
});
export type TeamEntitlements = Static<typeof TeamEntitlements>;

export const billingSchemas = {
  getTeamUsage: { response: TeamUsage },
  getTeamEntitlements: { response: TeamEntitlements },
} as const satisfies Record<keyof typeof billingOperations, OperationSchemas>;
