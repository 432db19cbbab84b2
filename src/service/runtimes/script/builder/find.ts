/** Finds the steps of a draft that references name. A reference to several steps, or to no step, becomes a question. */
import { shorten } from '../../../../base/values.ts';
import { RefusalError } from '../../../words/outcome.ts';
import type { Statement } from '../../../words/statements.ts';
import type { StatementAsker } from './asking.ts';
import type { Draft, DraftStep } from './draft.ts';
import type { StepReference } from './references.ts';

/** What finding a step depends on. */
export interface Search {
  draft: Draft;
  statement: Statement;
  asker: StatementAsker;
}

/** The step that a reference names. @throws OpenQuestion, PartDropped, RefusalError */
export function findStep(search: Search, reference: StepReference): DraftStep {
  const matches = candidates(search, reference);
  if (matches.length === 1) return matches[0] as DraftStep;
  const { draft, statement, asker } = search;
  const choice = matches.length > 0 ? matches : draft.steps;
  const reason =
    matches.length > 0 ? `${matches.length} steps match. Which one do you mean?` : `${missingStep(reference)}. Which step do you mean?`;
  if (choice.length === 0)
    throw new RefusalError(`${JSON.stringify(statement.text)} refers to a step, but the procedure has no steps yet.`);
  return choice[asker.choose(statement, reason, labels(draft, choice))] as DraftStep;
}

/** All steps that references name: several for `all approvals`. @throws OpenQuestion, PartDropped, RefusalError */
export function findSteps(search: Search, references: readonly StepReference[]): DraftStep[] {
  const steps = references.flatMap((reference) => {
    const allSteps = reference.by === 'kind' && reference.which === 'all' ? candidates(search, reference) : [];
    return allSteps.length > 0 ? allSteps : [findStep(search, reference)];
  });
  return [...new Set(steps)];
}

function candidates({ draft }: Search, reference: StepReference): DraftStep[] {
  const { steps } = draft;
  switch (reference.by) {
    case 'number':
      return reference.number < 0 ? steps.slice(-1) : steps.filter(({ number }) => number === reference.number);
    case 'kind': {
      const kind = steps.filter((step) => draft.kindOf(step) === reference.kind);
      if (typeof reference.which !== 'number') return kind;
      return reference.which < 0 ? kind.slice(-1) : kind.slice(reference.which - 1, reference.which);
    }
    case 'text': {
      const kind = reference.kind === undefined ? steps : steps.filter((step) => draft.kindOf(step) === reference.kind);
      const idMatches = kind.filter((step) => draft.idOf(step) === reference.text);
      if (idMatches.length > 0) return idMatches;
      const searchText = reference.text.toLowerCase();
      const exactMatches = kind.filter((step) => draft.textsOf(step).some((text) => text.toLowerCase() === searchText));
      return exactMatches.length > 0
        ? exactMatches
        : kind.filter((step) => draft.textsOf(step).some((text) => text.toLowerCase().includes(searchText)));
    }
    case 'last':
      return draft.last && steps.includes(draft.last) ? [draft.last] : [];
    case 'unclear':
      return [];
  }
}

function missingStep(reference: StepReference): string {
  switch (reference.by) {
    case 'number':
      return reference.number < 0 ? 'there is no last step' : `there is no step ${reference.number}`;
    case 'kind':
      return typeof reference.which === 'number'
        ? `there is no ${reference.kind} step number ${Math.abs(reference.which)}`
        : `there is no ${reference.kind} step`;
    case 'text':
      return `no step is called "${reference.text}"`;
    case 'last':
      return 'no step has been edited before "it"';
    case 'unclear':
      return `no step is called "${reference.words}"`;
  }
}

/** The labels of steps in questions. No two are the same. */
function labels(draft: Draft, steps: readonly DraftStep[]): { label: string }[] {
  const counts = new Map<string, number>();
  return steps.map((step) => {
    const label = stepLabel(draft, step);
    const times = (counts.get(label) ?? 0) + 1;
    counts.set(label, times);
    return { label: times === 1 ? label : `${label} (${times})` };
  });
}

/** `Step 3 (approve): Pay 3 invoices?` */
export function stepLabel(draft: Draft, step: DraftStep): string {
  const kind = draft.kindOf(step) ?? 'unknown';
  const payload = draft.payloadOf(step) as Record<string, unknown> | string | null;
  const question = (payload as { questions?: { question?: unknown }[] } | null)?.questions?.[0]?.question;
  const summary =
    typeof payload === 'string'
      ? payload
      : (payload?.title ?? question ?? payload?.run ?? payload?.url ?? payload?.path ?? payload?.name ?? '');
  const lines = String(summary).trim().split('\n');
  // A command can begin with a comment.
  const line = lines.find((text) => !text.startsWith('#')) ?? (lines[0] as string);
  const label = shorten(line, 60);
  return `${step.number === undefined ? 'New step' : `Step ${step.number}`} (${kind})${label === '' ? '' : `: ${label}`}`;
}
