/** The clients, in one module that is loaded when a command first needs the service. */
export { Client } from './client.ts';
export { DryRunClient, DryRunStop } from './dry-run.ts';
export { SharedLimits } from './limits/shared-limits.ts';
