/** What the page of an artifact is to show. It names no figures: those are looked up whenever the page is made (data/). */

/** What a part of a page is about. */
export type SubjectName = 'runs' | 'agents' | 'requests' | 'deliveries' | 'cases' | 'usage';

/** What things are counted by. */
export type Field = 'status' | 'agent' | 'source' | 'type' | 'event' | 'priority' | 'queue' | 'hour' | 'day' | 'week' | 'month';

export const timeFields: readonly Field[] = ['hour', 'day', 'week', 'month'];

/** A time that moves along with the clock: the last 7 days, this month, since a day. Days are those of UTC. */
export type Period =
  | { kind: 'last'; count: number; unit: 'hour' | 'day' | 'week' | 'month' }
  | { kind: 'this'; unit: 'day' | 'week' | 'month' | 'year' }
  | { kind: 'yesterday' }
  | { kind: 'since'; date: string };

export interface Query {
  subject: SubjectName;
  /** The word it was asked for with, and the statuses that it stands for. */
  status?: { word: string; values: string[] };
  /** Of human requests. */
  type?: 'approval' | 'question';
  period?: Period;
  agent?: { id: string; name: string };
  queue?: { id: string; name: string };
}

export type Form = 'table' | 'bars' | 'line' | 'number';

export interface DataBlock {
  /** Of the element in the page: stays with the block in later revisions. */
  id: string;
  kind: 'data';
  query: Query;
  by?: Field;
  form: Form;
}

export interface TextBlock {
  id: string;
  kind: 'text';
  text: string;
}

export type Block = DataBlock | TextBlock;

export interface PageSpec {
  title: string;
  /** Whether somebody gave the title; otherwise it is that of the first block. */
  titled: boolean;
  blocks: Block[];
  /** Number of the next block that is added. */
  next: number;
}

export const emptyPage: PageSpec = { title: 'Untitled page', titled: false, blocks: [], next: 1 };

/** The most blocks of a page. */
export const mostBlocks = 30;
