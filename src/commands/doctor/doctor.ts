import { AopsError, exitCodes } from '../../base/errors.ts';
import { version } from '../../base/version.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { flag } from '../../cli/kit/flags.ts';
import { column, documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ResultError } from '../../cli/kit/result-error.ts';
import type { View } from '../../terminal/cell.ts';
import { renderRecord } from '../../terminal/record.ts';
import { renderTable } from '../../terminal/table.ts';
import type { Check } from './check.ts';
import { machineChecks } from './machine.ts';
import { serviceChecks, skippedServiceChecks } from './service.ts';
import { settingsChecks } from './settings.ts';

interface Diagnosis {
  version: string;
  ok: boolean;
  checks: Check[];
}

const labelOf = (id: string): string => (id === 'tls' ? 'TLS' : id.charAt(0).toUpperCase() + id.slice(1));

const columns = [
  column('CHECK', (check: Check) => labelOf(check.id)),
  column('STATUS', (check: Check) => check.status),
  column('FOUND', (check: Check) => check.detail),
  column('WHAT TO DO', (check: Check) => check.hint),
];

const styles = { ok: undefined, warn: 'warning', fail: 'error', skip: 'dim' } as const;

export default defineCommand({
  summary: 'Check your setup and explain how to fix problems',
  description:
    'Configuration and where it comes from, credential, proxy, certificates, the service with its latency, clock, rate limit and interface, Node, folders, the local service, completion, changes that are open. Shows no secret. Exit 1 when something fails; a warning does not fail.',
  options: { offline: flag('Ask the service nothing') },
  operations: ['getTeam'],
  exits: [exitCodes.failure],
  examples: [
    { command: 'aops doctor', text: 'When something does not work' },
    { command: 'aops doctor --json --jq \'.checks[] | select(.status != "ok")\'', text: 'Only what is not right, for a report' },
  ],
  result: returns({
    version: 'string',
    ok: 'boolean',
    checks: [{ id: 'string', status: 'ok|warn|fail|skip', detail: 'string', hint: 'string|null' }],
  }),
  output: documentOutput<Diagnosis>(async ({ checks }, view: View) => {
    // For programs a check is a line of four cells; for people what to do stands below what was found.
    if (!view.tty) return renderTable(checks, columns, view);
    const fields = checks.map(({ id, status, detail, hint }) => ({
      label: labelOf(id),
      value: `${status.padEnd(4)}  ${detail}${hint === null ? '' : `\n      ${hint}`}`,
      style: styles[status],
    }));
    return renderRecord(fields, view);
  }),
  async run(context, input): Promise<Diagnosis> {
    const { checks, usable } = await settingsChecks(context);
    const asked = usable && !input.offline ? await serviceChecks(context) : skippedServiceChecks();
    const all = [...checks, ...asked, ...(await machineChecks(context))];
    const failures = all.filter(({ status }) => status === 'fail');
    const diagnosis = { version, ok: failures.length === 0, checks: all };
    if (diagnosis.ok) return diagnosis;
    const error = new AopsError(
      `${failures.length === 1 ? 'One check' : `${failures.length} checks`} failed: ${failures.map(({ id }) => id).join(', ')}.`,
      {
        code: 'doctor_failed',
        exit: exitCodes.failure,
        hint: 'See the last column for what to do.',
      },
    );
    throw new ResultError(error, diagnosis);
  },
});
