/** The rubrics that every run is judged by, in addition to those of its agent. */
import type { Check, Severity } from './language.ts';

export interface PlatformRubric {
  key: string;
  label: string;
  description: string;
  /** Where to look for the cause of a failure: `agent`, `tool`, or `person`. */
  cause: string;
  severity: Severity;
  check: Check;
}

export const platformRubrics: readonly PlatformRubric[] = [
  {
    key: 'run_failed',
    label: 'The run did not fail',
    description: 'Critical: the run did not fail.',
    cause: 'agent',
    severity: 'critical',
    check: { kind: 'outcome', status: 'failed', not: true },
  },
  {
    key: 'tool_error',
    label: 'No tool call failed',
    description: 'Medium: no tool call failed, including commands and pages.',
    cause: 'tool',
    severity: 'medium',
    check: { kind: 'failed_calls', atMost: 0 },
  },
  {
    key: 'run_stopped',
    label: 'Nobody had to stop the run',
    description: 'Low: the run was not interrupted.',
    cause: 'person',
    severity: 'low',
    check: { kind: 'outcome', status: 'interrupted', not: true },
  },
  {
    key: 'approval_denied',
    label: 'Nobody denied an approval',
    description: 'Low: nobody denied an approval.',
    cause: 'person',
    severity: 'low',
    check: { kind: 'person', decision: 'denied', title: undefined, not: true },
  },
];
