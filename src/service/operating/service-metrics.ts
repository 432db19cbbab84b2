/** The metrics of the service for Prometheus. Labels are fixed words, never IDs: so there are few of them, and they do not reveal who did what. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { version } from '../../base/version.ts';
import type { HasClock, HasStore } from '../engine/engine.ts';
import type { JobCounts } from '../engine/jobs/job-counts.ts';
import type { DatabaseConnections } from '../store/database/connections.ts';
import { jobKinds } from '../store/jobs/kinds.ts';
import { countByStatus, type JobBacklog, jobBacklog } from '../store/runs/figures.ts';
import { databaseMetrics } from './database-metrics.ts';
import { Counter, Histogram, metric, type Sample } from './metrics.ts';

/** Resources that the process uses: bytes, and seconds of CPU time. */
export interface ProcessUsage {
  residentBytes: number;
  heapBytes: number;
  cpuSeconds: number;
}

interface MetricsParts {
  /** Milliseconds. */
  startedAt: number;
  usage: (() => ProcessUsage) | undefined;
  worker: { readonly counts: JobCounts };
  connections: DatabaseConnections | undefined;
}

export class ServiceMetrics {
  readonly #requests = new Counter();
  readonly #durations = new Histogram('operation');
  readonly #lag: IntervalHistogram = monitorEventLoopDelay({ resolution: 20 });
  readonly #usage: (() => ProcessUsage) | undefined;
  readonly #startedAt: number;
  readonly #jobs: JobCounts;
  readonly #connections: DatabaseConnections | undefined;

  constructor({ startedAt, usage, worker, connections }: MetricsParts) {
    this.#startedAt = startedAt;
    this.#usage = usage;
    this.#jobs = worker.counts;
    this.#connections = connections;
    this.#lag.enable();
  }

  /** Counts an answered request. */
  countAnswer(operation: string, status: number, milliseconds: number): void {
    this.#requests.add({ operation, status: String(status) });
    this.#durations.observe(operation, milliseconds / 1_000);
  }

  close(): void {
    this.#lag.disable();
  }

  /** The current values of all metrics. */
  async text({ store, clock }: HasStore & HasClock): Promise<string> {
    const { runs, deliveries } = await countByStatus(store);
    const jobs = await jobBacklog(store, Object.values(jobKinds), clock.now());
    return [
      metric('aops_build_info', 'The running version.', 'gauge', [[{ version }, 1]]),
      metric('aops_http_requests_total', 'Requests answered.', 'counter', this.#requests.samples()),
      this.#durations.text('aops_http_request_duration_seconds', 'Time from the last header of a request to the end of its response.'),
      metric('aops_runs', 'Runs by status.', 'gauge', byStatus(runs)),
      metric('aops_webhook_deliveries', 'Retained webhook deliveries, by status.', 'gauge', byStatus(deliveries)),
      metric('aops_jobs_running', 'Jobs in progress.', 'gauge', byKind(jobs, 'runningCount')),
      metric('aops_jobs_due', 'Jobs that are waiting for a worker.', 'gauge', byKind(jobs, 'dueCount')),
      metric('aops_jobs_late_seconds', 'How long the oldest waiting job has been due.', 'gauge', byKind(jobs, 'overdueSeconds')),
      metric('aops_jobs_claimed_total', 'Jobs that this process began to work on.', 'counter', byKinds(this.#jobs.claimed)),
      metric(
        'aops_jobs_taken_over_total',
        'Jobs that this process continued after their lease had ended.',
        'counter',
        byKinds(this.#jobs.takenOver),
      ),
      metric('aops_jobs_lost_total', 'Jobs whose lease this process lost.', 'counter', byKinds(this.#jobs.lost)),
      ...(this.#connections === undefined ? [] : databaseMetrics(this.#connections)),
      ...this.#process(),
    ].join('');
  }

  #process(): string[] {
    const seconds = (nanoseconds: number): number => (Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0);
    const lag = { mean: seconds(this.#lag.mean), p99: seconds(this.#lag.percentile(99)), max: seconds(this.#lag.max) };
    // Since the last read: over the whole lifetime, changes would be invisible.
    this.#lag.reset();
    const usage = this.#usage?.();
    const processMetrics: string[] =
      usage === undefined
        ? []
        : [
            metric('process_resident_memory_bytes', 'Memory of the process.', 'gauge', [[{}, usage.residentBytes]]),
            metric('nodejs_heap_size_used_bytes', 'Memory that JavaScript uses.', 'gauge', [[{}, usage.heapBytes]]),
            metric('process_cpu_seconds_total', 'CPU time that the process has used.', 'counter', [[{}, usage.cpuSeconds]]),
          ];
    return [
      metric('process_start_time_seconds', 'When the service started, in seconds since 1970.', 'gauge', [[{}, this.#startedAt / 1_000]]),
      ...processMetrics,
      metric('nodejs_eventloop_lag_mean_seconds', 'Mean delay of the event loop since the metrics were last read.', 'gauge', [
        [{}, lag.mean],
      ]),
      metric(
        'nodejs_eventloop_lag_p99_seconds',
        '99th percentile of the delay of the event loop since the metrics were last read.',
        'gauge',
        [[{}, lag.p99]],
      ),
      metric('nodejs_eventloop_lag_max_seconds', 'Longest delay of the event loop since the metrics were last read.', 'gauge', [
        [{}, lag.max],
      ]),
    ];
  }
}

const byStatus = (counts: ReadonlyMap<string, number>): Sample[] => [...counts].map(([status, count]) => [{ status }, count]);

const byKinds = (counts: ReadonlyMap<string, number>): Sample[] => [...counts].map(([kind, count]) => [{ kind }, count]);

const byKind = (jobs: ReadonlyMap<string, JobBacklog>, figure: keyof JobBacklog): Sample[] =>
  [...jobs].map(([kind, backlog]) => [{ kind }, backlog[figure]]);
