/** What a pool and its workers send each other. */
import type { Position } from '../problems.ts';
import type { Scope } from '../template.ts';
import type { Parts } from './parts.ts';

/** Templates to be rendered. */
export interface Asked {
  parts: Parts;
  scope: Omit<Scope, 'memory'>;
  /** Memory files by path. */
  memory: ReadonlyMap<string, string>;
}

/** What came of them: the values by the names of the parts, or what is wrong with a template. */
export type Told = { values: Record<string, unknown> } | { problem: string; position: Position };
