/** Every kind of job that the engine runs. */
import { builderRunJob } from './agents/builder-driver.ts';
import { scheduleJob } from './agents/schedules.ts';
import { artifactJob } from './artifacts/driver.ts';
import { refreshArtifactJob } from './artifacts/schedule.ts';
import { dispatchCasesJob } from './dispatch/dispatch.ts';
import type { Engine } from './engine.ts';
import type { Job } from './jobs/job.ts';
import { pushJob } from './push/delivery.ts';
import { remindJob } from './requests/reminders.ts';
import { evaluateJob } from './runs/evaluations.ts';
import { runJob } from './runs/run-driver.ts';
import { forgetRunsJob } from './runs/run-retention.ts';
import { expireSandboxJob } from './runs/sandbox-expiry.ts';
import { expireRunSandboxesJob } from './runs/sandbox-retention.ts';
import { deliverJob } from './webhooks/delivery.ts';
import { expireWebhookJob } from './webhooks/expiry.ts';
import { forgetDeliveriesJob } from './webhooks/retention.ts';

export const engineJobs: readonly Job<Engine>[] = [
  runJob,
  dispatchCasesJob,
  builderRunJob,
  evaluateJob,
  scheduleJob,
  artifactJob,
  refreshArtifactJob,
  expireSandboxJob,
  expireRunSandboxesJob,
  remindJob,
  deliverJob,
  pushJob,
  expireWebhookJob,
  forgetRunsJob,
  forgetDeliveriesJob,
];
