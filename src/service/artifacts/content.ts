/** What a page showed when it was made: kept with its revision, so that a page stays as it was, and rendered by render/. */
import type { Query } from './page.ts';

/** A `bucket` is the beginning of an instant, which stands for a time: `2026-07`, `2026-07-18T09`. */
export type ColumnKind = 'text' | 'status' | 'time' | 'bucket' | 'number';

export interface TableContent {
  kind: 'table';
  columns: { label: string; kind: ColumnKind }[];
  rows: (string | number | null)[][];
  /** How many there are, of which `rows` are the first. */
  total: number;
  /** Counts over time, of which `rows` are the latest: how many things were before them. */
  earlier?: number;
}

export interface BarsContent {
  kind: 'bars';
  bars: { label: string; value: number; status?: boolean }[];
  total: number;
}

/** Counts over time; labels are beginnings of ISO 8601. */
export interface SeriesContent {
  kind: 'series';
  as: 'bars' | 'line';
  points: { label: string; value: number }[];
  total: number;
  /** How many of them were before the first point, where there are more than are drawn. */
  earlier?: number;
}

export interface NumberContent {
  kind: 'number';
  value: number;
}

/** What is used of a plan. */
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
  /** The moment of the figures, ISO 8601. */
  asOf: string;
  blocks: BlockContent[];
}
