/** The messages between a pool and its workers. */
import type { Position } from '../../document/problems.ts';
import type { Scope } from '../template.ts';
import type { Parts } from './parts.ts';

/** Templates to render. */
export interface RenderRequest {
  parts: Parts;
  scope: Omit<Scope, 'memory'>;
  /** Memory files by path. */
  memory: ReadonlyMap<string, string>;
}

/** The rendered values by the names of the parts, or the problem of a template. */
export type RenderResponse = { values: Record<string, unknown> } | { problem: string; position: Position };
