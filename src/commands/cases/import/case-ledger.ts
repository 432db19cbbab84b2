/** The ledger of an import of cases: a line for each batch. */
import { Ledger, type LedgerHead, type LedgerRules } from '../../../cli/bulk/ledger.ts';
import type { FailedRow } from '../../../cli/bulk/rows.ts';

export interface CaseLedgerHead extends LedgerHead {
  aops: 'cases';
  queue_id: string;
}

export interface BatchResult {
  created: number;
  failed: FailedRow[];
}

export type CaseLedger = Ledger<CaseLedgerHead, BatchResult>;

const rules: LedgerRules<CaseLedgerHead> = {
  unit: 'batch',
  work: 'import',
  effects: 'its cases',
  differences: [
    ['queue_id', 'was for another queue'],
    ['base_url', 'was sent to another service'],
    ['content', 'used a different version of the file'],
    ['reading', 'used a different --map, --label, or --priority'],
  ],
  defaults: { failed: [] },
  startOver: 'Remove that file to start over: every row becomes a case again.',
  unknown: {
    code: 'import_outcome_unknown',
    hint: (batch, file) =>
      `Search for them with \`aops cases search\`. To send the batch again, remove the line {"batch":${batch},"begun":...} from ${file}; to skip it, replace the line with {"batch":${batch},"created":0}.`,
  },
};

export const openCaseLedger = (file: string, head: CaseLedgerHead): Promise<CaseLedger> => Ledger.open(file, head, rules);

/** The keys of a batch, or of one of its rows. */
export function batchKeys({ head }: CaseLedger, batch: number, row?: number): { key: string; commandKey: string } {
  const key = `aops-cases-${head.id}-${batch}${row === undefined ? '' : `-${row}`}`;
  return { key, commandKey: key };
}
