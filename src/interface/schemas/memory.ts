import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { memoryOperations } from '../operations/memory.ts';
import { DateTime, Named, Words } from './common.ts';

/** The origin of a memory file. */
const provenance = {
  /** Changes with every write. */
  generation: Type.Optional(Type.String()),
  source_type: Type.Optional(Words(['job', 'user'])),
  source_agent_run_id: Type.Optional(Type.String()),
  source_user_id: Type.Optional(Type.String()),
  source_updated_at: Type.Optional(DateTime),
};

/** A row of the list of memory files. */
export const MemoryFile = Named('MemoryFile', {
  name: Type.String(),
  /** Relative, with slashes. */
  path: Type.String(),
  updated_at: Type.Optional(DateTime),
  ...provenance,
  /** Bytes; an extension. */
  size: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type MemoryFile = Static<typeof MemoryFile>;

export const MemoryFileContent = Named('MemoryFileContent', { path: Type.String(), content: Type.String(), ...provenance });
export type MemoryFileContent = Static<typeof MemoryFileContent>;

export const memorySchemas = {
  listAgentMemoryFiles: { response: Type.Object({ files: Type.Array(MemoryFile) }) },
  getAgentMemoryFile: { response: MemoryFileContent },
} as const satisfies Record<keyof typeof memoryOperations, OperationSchemas>;
