/** The processes that use the database. */
import type { Selectable } from 'kysely';
import type { Fixed } from './columns.ts';

/** A node, until it ends. Only databases that several nodes can use contain rows. */
export interface NodesTable {
  /** Of the instance: a node that starts again is another one. */
  id: Fixed<string>;
  name: Fixed<string>;
  /** Where clients reach it. */
  url: Fixed<string>;
  version: Fixed<string>;
  /** How many connections it may use. */
  connections: Fixed<number>;
  started_at: Fixed<string>;
  /** Milliseconds. */
  seen_at: number;
}

export interface NodesTables {
  nodes: NodesTable;
}

export type NodeRow = Selectable<NodesTable>;
