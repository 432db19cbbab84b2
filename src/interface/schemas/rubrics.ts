import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { rubricOperations } from '../operations/rubrics.ts';
import { DateTime, Named, Nullable, Uuid, Words } from './common.ts';

/** A rubric for the runs of an agent. The last three fields are extensions: how the description was understood. */
export const Rubric = Named('Rubric', {
  id: Uuid,
  slug: Type.String(),
  title: Type.String(),
  description: Type.String(),
  sort_order: Type.Number(),
  deleted_at: Nullable(DateTime),
  severity: Type.Optional(Words(['critical', 'medium', 'low'])),
  checks: Type.Optional(Type.Array(Type.String())),
  /** Sentences that cannot be checked. */
  unclear: Type.Optional(Type.Array(Type.String())),
});
export type Rubric = Static<typeof Rubric>;

/** A rubric for every run. */
export const PlatformRubric = Named('PlatformRubric', {
  key: Type.String(),
  label: Type.String(),
  description: Type.String(),
  cause: Type.String(),
});
export type PlatformRubric = Static<typeof PlatformRubric>;

const Title = Type.String({ minLength: 3, maxLength: 80 });
const Description = Type.String({ minLength: 20, maxLength: 400 });
const Rubrics = Named('Rubrics', { rubrics: Type.Array(Rubric), platform_rubrics: Type.Array(PlatformRubric) });
const build = { build_id: Type.Optional(Uuid) };

export const rubricSchemas = {
  getEvalRubrics: { query: Type.Object(build), response: Rubrics },
  createEvalRubric: {
    body: Type.Object({ title: Title, description: Description, ...build }),
    response: Type.Object({ rubric: Rubric }),
  },
  replaceEvalRubrics: {
    body: Type.Object({ rubrics: Type.Array(Type.Object({ title: Title, description: Description }), { maxItems: 5 }), ...build }),
    response: Rubrics,
  },
  updateEvalRubric: {
    body: Type.Object({ title: Type.Optional(Title), description: Type.Optional(Description) }),
    response: Type.Object({ rubric: Rubric }),
  },
  deleteEvalRubric: { response: Type.Object({ success: Type.Boolean() }) },
} as const satisfies Record<keyof typeof rubricOperations, OperationSchemas>;
