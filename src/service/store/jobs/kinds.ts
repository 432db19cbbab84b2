/** The kinds of rows in the jobs table. */

/** Kinds of jobs. */
export const jobKinds = {
  run: 'run',
  builderRun: 'builder_run',
  schedule: 'schedule',
  artifact: 'artifact',
  refreshArtifact: 'refresh_artifact',
  evaluate: 'evaluate',
  expireSandbox: 'expire_sandbox',
  expireRunSandboxes: 'expire_run_sandboxes',
  /** Of a team. */
  remind: 'remind',
  /** Of an endpoint. */
  deliver: 'deliver',
  /** Of a push subscription. */
  push: 'push',
  /** Of a temporary webhook. */
  expireWebhook: 'expire_webhook',
  forgetDeliveries: 'forget_deliveries',
  forgetRuns: 'forget_runs',
  forgetKeys: 'forget_keys',
  /** Of a queue. */
  dispatchCases: 'dispatch_cases',
} as const;
