import { capitalize } from '../../base/capitalize.ts';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
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

const labelOf = (id: string): string => (id === 'tls' ? 'TLS' : capitalize(id));

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
    'Checks the configuration and its sources, the credential, proxy, and certificates, the service (latency, clock, rate limit, and interface), Node, git, folders, the local service, whether commands of runs can be contained, the browser for runs, completion, and open changes. Secrets are not shown. The exit code is 1 if a check fails; warnings do not change it.',
  options: { offline: flag('Skip the checks that need the service') },
  operations: ['getTeam'],
  exits: [exitCodes.failure],
  examples: [
    { command: 'aops doctor', text: 'Check your setup' },
    { command: 'aops doctor --json --jq \'.checks[] | select(.status != "ok")\'', text: 'Print only problems, for a report' },
  ],
  result: returns({
    version: 'string',
    ok: 'boolean',
    checks: [{ id: 'string', status: 'ok|warn|fail|skip', detail: 'string', hint: 'string|null' }],
  }),
  output: documentOutput<Diagnosis>(async ({ checks }, view: View) => {
    // Programs get a line with four cells per check; people see the advice below the result.
    if (!view.tty) return renderTable(checks, columns, view);
    const fields = checks.map(({ id, status, detail, hint }) => ({
      label: labelOf(id),
      value: `${status.padEnd(4)}  ${detail}${hint === null ? '' : `\n      ${hint}`}`,
      style: styles[status],
    }));
    return renderRecord(fields, view);
  }),
  async run(context, input): Promise<Diagnosis> {
    const { checks, usableConfig } = await settingsChecks(context);
    const serviceResults = usableConfig && !input.offline ? await serviceChecks(context) : skippedServiceChecks();
    const all = [...checks, ...serviceResults, ...(await machineChecks(context))].map(({ hint, ...check }) => ({
      ...check,
      hint: hint === null ? null : context.terminal.suggested(hint),
    }));
    const failures = all.filter(({ status }) => status === 'fail');
    const diagnosis = { version, ok: failures.length === 0, checks: all };
    if (diagnosis.ok) return diagnosis;
    const error = new AopsError(`${pluralize(failures.length, 'check')} failed: ${failures.map(({ id }) => id).join(', ')}.`, {
      code: 'doctor_failed',
      exit: exitCodes.failure,
      hint: 'See the last column for what to do.',
    });
    throw new ResultError(error, diagnosis);
  },
});
