/** Arguments that several tools share. */
import Type from 'typebox';
import { Uuid } from '../../../interface/schemas/common.ts';

export const runId = Type.String({ ...Uuid, description: 'ID of the run' });

/** `limit` and `offset` of a list. */
export const page = (maximum: number) => ({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum, description: `How many to return (default 20, at most ${maximum})` })),
  offset: Type.Optional(Type.Integer({ minimum: 0, description: 'How many to skip' })),
});
