/** Checks that a command's JSON matches the `result` of its definition. Done after every `--json` in a test. */
import { requiredOf, schemaAt } from '../../scripts/generate/contract-fields.ts';
import type { ResultShape } from '../../src/cli/kit/result.ts';
import { follow } from '../../src/cli/kit/tree.ts';
import { checksFieldsFirst } from '../../src/cli/program/requested-form.ts';
import { printedFields, resultFields } from '../../src/cli/program/result-fields.ts';
import { commandTree } from '../../src/commands/index.ts';
import { itemsOf } from '../../src/terminal/formats.ts';
import type { CliResult } from './run-cli.ts';

const changesForm = ['--fields', '--jq', '--template', '--dry-run', '-o', '--output', '--curl', '--count'];
/** Flags of commands that print something else with them: see `otherResults`. */
const changesResult = ['--watch', '--from'];

/** @throws Error naming the fields that are not declared, or missing */
export async function checkDeclaredResult(argv: readonly string[], { code, stdout }: CliResult): Promise<void> {
  if (stdout === '' || !argv.includes('--json') || changesForm.some((flag) => argv.includes(flag))) return;
  const flags = argv.findIndex((word) => word.startsWith('-'));
  const { load, path } = follow(commandTree, argv.slice(0, flags));
  if (!load) return;
  const command = (await load()).default;
  const declaredFields = resultFields(command);
  if (!declaredFields || command.output?.kind === 'raw') return;
  const output = JSON.parse(stdout) as Record<string, unknown>;
  // Some commands return a list if they are called for several things.
  const isList = declaredFields.list || (Array.isArray(output.data) && command.output !== undefined && 'list' in command.output);
  const rows = isList ? output.data : [output];
  // Some flags select a different result: `--count`.
  if (!Array.isArray(rows)) return;
  const names = new Set(printedFields(command));
  const unknownNames = itemsOf(output).flatMap((row) => Object.keys(row as object).filter((name) => !names.has(name)));
  if (checksFieldsFirst(command) && unknownNames.length > 0)
    throw new Error(`aops ${path.join(' ')} prints [${[...new Set(unknownNames)]}], which --fields would reject`);
  if (code !== 0 || changesResult.some((flag) => argv.includes(flag))) return;
  const { contract, fields = {} } = command.result as ResultShape;
  const expected = [
    ...(contract === undefined ? [] : requiredOf(schemaAt(contract))),
    ...Object.entries(fields).flatMap(([name, shape]) => (typeof shape === 'string' && shape.endsWith('?') ? [] : [name])),
  ];
  for (const row of rows as object[]) {
    // Fields that a service adds to the contract are passed on.
    const undeclaredFields = Object.keys(row).filter((name) => contract === undefined && !Object.hasOwn(declaredFields.fields, name));
    const missingNames = expected.filter((name) => !Object.hasOwn(row, name));
    if (undeclaredFields.length + missingNames.length > 0) {
      throw new Error(
        `aops ${path.join(' ')} prints [${undeclaredFields}] without declaring it, and declares [${missingNames}] without printing it: see its \`result\``,
      );
    }
  }
}
