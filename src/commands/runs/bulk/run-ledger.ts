/** The ledger of runs that are started in bulk: a line for each row before it is sent, and one with its outcome. */
import { crypto } from '../../../base/crypto.ts';
import { Ledger, type LedgerHead, type LedgerRules } from '../../../cli/bulk/ledger.ts';

export interface RunLedgerHead extends LedgerHead {
  aops: 'runs';
  team_id: string;
  /** The runs that are started again, in the order of the rows. */
  sources?: string[];
}

/** The run of a row, or the reason why the service rejected the row. */
export type RowResult = { run_id: string; run_number: number | null; agent_id: string | null } | { failed: string };

export type RunLedger = Ledger<RunLedgerHead, RowResult>;

const rules: LedgerRules<RunLedgerHead> = {
  unit: 'row',
  work: 'bulk start',
  effects: 'its run',
  differences: [
    ['team_id', 'was for another team'],
    ['base_url', 'was sent to another service'],
    ['content', 'used a different version of the file'],
    ['reading', 'used different options, such as --agent, --message, or --upload'],
  ],
  startOver:
    'To continue, use the same file and the same options. To start runs for new rows, put them into a new file. To start over, remove the ledger: every row is then started again.',
  unknown: {
    code: 'start_outcome_unknown',
    hint: (row, file) =>
      `Look for it with \`aops runs list\`. To start the row again, remove the line {"row":${row},"begun":...} from ${file}; to skip it, replace the line with {"row":${row},"failed":"skipped"}.`,
  },
};

export const openRunLedger = (file: string, head: RunLedgerHead): Promise<RunLedger> => Ledger.open(file, head, rules);

/** The same row with the same content has the same key, until the service refuses it for a reason outside of the row. */
export function rowKey(ledger: RunLedger, row: number, content: object): string {
  const refusals = ledger.refusalsOf(row);
  return `aops-runs-${ledger.head.id}-${row}-${digest(JSON.stringify(content)).slice(0, 16)}${refusals === 0 ? '' : `.${refusals}`}`;
}

export const digest = (content: string | Uint8Array): string => crypto().createHash('sha256').update(content).digest('hex');
