/** Webhook events about connections. */

import type { ConnectionRow } from '../../store/database/schema.ts';
import { connectionView } from '../../views/connections.ts';
import type { HasConnections } from '../engine.ts';
import type { NewEvent } from '../webhooks/events.ts';

/** A connection was created, changed, or authorized, or works again. */
export const updatedEvent = (engine: HasConnections, row: ConnectionRow): NewEvent => ({
  kind: 'connection.updated',
  data: () => ({ connection: connectionView(engine.connections.box, row) }),
});

/** A connection no longer works; its `broken_reason` says why. */
export const actionRequiredEvent = (engine: HasConnections, row: ConnectionRow): NewEvent => ({
  kind: 'connection.action_required',
  data: () => ({ connection: connectionView(engine.connections.box, row) }),
});
