/** Metrics of the connections to a database that several nodes share. */
import type { DatabaseConnections } from '../store/database/connections.ts';
import { metric } from './metrics.ts';

export function databaseMetrics(connections: DatabaseConnections): string[] {
  const { used, idle, waiting } = connections.pool();
  const { count, totalDelay, maxDelay } = connections.notifications();
  const meanDelay = count === 0 ? 0 : totalDelay / count;
  return [
    metric('aops_database_connections', 'Connections to the database for queries.', 'gauge', [
      [{ state: 'used' }, used],
      [{ state: 'idle' }, idle],
    ]),
    metric('aops_database_connections_max', 'Connections that this process may use, including the one for notifications.', 'gauge', [
      [{}, connections.maxCount],
    ]),
    metric('aops_database_queue', 'Queries and transactions that are waiting for a connection.', 'gauge', [[{}, waiting]]),
    metric('aops_database_listening', 'Whether notifications of other nodes are received.', 'gauge', [
      [{}, connections.isListening() ? 1 : 0],
    ]),
    metric(
      'aops_database_notification_lag_mean_seconds',
      'Mean time from sending a notification to receiving it, since the metrics were last read.',
      'gauge',
      [[{}, meanDelay / 1_000]],
    ),
    metric(
      'aops_database_notification_lag_max_seconds',
      'Longest time from sending a notification to receiving it, since the metrics were last read.',
      'gauge',
      [[{}, maxDelay / 1_000]],
    ),
  ];
}
