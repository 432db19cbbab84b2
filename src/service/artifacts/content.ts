/** The content of a page when it was created. It is stored with the revision, so that the page never changes; render/ renders it. */
import type { Query } from './page.ts';

/** A `bucket` is the beginning of an ISO 8601 instant and stands for a period: `2026-07`, `2026-07-18T09`. */
export type ColumnKind = 'text' | 'status' | 'time' | 'bucket' | 'number';

export interface TableContent {
  kind: 'table';
  columns: { label: string; kind: ColumnKind }[];
  rows: (string | number | null)[][];
  /** The number of all rows; `rows` are the first of them. */
  total: number;
  /** For counts over time, of which `rows` are the latest: the sum of the earlier ones. */
  earlier?: number;
}

export interface BarsContent {
  kind: 'bars';
  bars: { label: string; value: number; status?: boolean }[];
  total: number;
}

/** Counts over time; labels are buckets. */
export interface SeriesContent {
  kind: 'series';
  as: 'bars' | 'line';
  points: { label: string; value: number }[];
  total: number;
  /** The sum of the counts before the first point, if there are more than are drawn. */
  earlier?: number;
}

export interface NumberContent {
  kind: 'number';
  value: number;
}

/** How much of a plan is used. */
export interface UsageContent {
  kind: 'usage';
  limits: { label: string; used: number; limit: number | 'unlimited' }[];
  period: { start: string; end: string };
}

export type DataContent = TableContent | BarsContent | SeriesContent | NumberContent | UsageContent;

export type BlockContent =
  | { id: string; kind: 'data'; title: string; subject: Query['subject']; data: DataContent }
  | { id: string; kind: 'text'; text: string };

export interface PageContent {
  title: string;
  /** When the figures were looked up, ISO 8601. */
  asOf: string;
  blocks: BlockContent[];
}
