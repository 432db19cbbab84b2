/** What the page of an artifact should show. It does not contain figures: they are looked up whenever the page is made (data/). */

/** What a part of a page is about. */
export type SubjectName = 'runs' | 'agents' | 'requests' | 'deliveries' | 'cases' | 'usage';

/** The field that a count is grouped by. */
export type Field = 'status' | 'agent' | 'source' | 'type' | 'event' | 'priority' | 'queue' | 'hour' | 'day' | 'week' | 'month';

export const timeFields: readonly Field[] = ['hour', 'day', 'week', 'month'];

/** A period relative to the current time: the last 7 days, this month, since a day. Days are in UTC. */
export type Period =
  | { kind: 'last'; count: number; unit: 'hour' | 'day' | 'week' | 'month' }
  | { kind: 'this'; unit: 'day' | 'week' | 'month' | 'year' }
  | { kind: 'yesterday' }
  | { kind: 'since'; date: string };

export interface Query {
  subject: SubjectName;
  /** The word in the request, and the statuses that it stands for. */
  status?: { word: string; values: string[] };
  /** The type of human requests. */
  type?: 'approval' | 'question';
  period?: Period;
  agent?: { id: string; name: string };
  queue?: { id: string; name: string };
}

export type Form = 'table' | 'bars' | 'line' | 'number';

export interface DataBlock {
  /** The ID of the element in the page, which the block keeps in later revisions. */
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
  /** Whether the title was requested; otherwise the page has the title of its first block. */
  titled: boolean;
  blocks: Block[];
  /** The number of the next block to be added. */
  next: number;
}

export const emptyPage: PageSpec = { title: 'Untitled page', titled: false, blocks: [], next: 1 };

/** The maximum number of blocks on a page. */
export const maxBlocks = 30;
