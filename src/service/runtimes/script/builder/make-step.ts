/** Turns a step in words into a step of a procedure: asks for what is missing, and generates an ID where one is required. */
import { type StepKind, stepSchemas } from '../schema.ts';
import type { Search } from './find.ts';
import type { StepDraft } from './new-step.ts';

const subjectQuestions: Record<StepKind, string> = {
  say: 'what should it say?',
  ask: 'what is the question?',
  approve: 'what should be approved?',
  exec: 'which command should it run?',
  write: 'which file should it write?',
  remember: 'which memory file should it write?',
  sleep: 'how long should it wait, such as 30s or 5m?',
  fail: 'what should the error message be?',
  tool: 'which tool should it call?',
  browse: 'which page should it open?',
  screenshot: 'which image in the workspace should it show?',
  complete_case: 'which note should it complete the case with?',
  fail_case: 'what is the reason for failing the case?',
  postpone_case: 'how long should it postpone the case for, such as 2h or 3d?',
  create_case: 'what should the case be called?',
};

/** The step as plain data. @throws OpenQuestion, PartDropped */
export function makeStep({ draft, statement, asker }: Search, step: StepDraft): Record<string, unknown> {
  const subject = step.subject !== '' ? step.subject : asker.text(statement, subjectQuestions[step.kind]);
  const { kind, options, extraFields } = step;
  const id = step.id === undefined ? {} : { id: step.id };
  const idFrom = (name: string): { id: string } => ({ id: step.id ?? freeId(name, draft.ids()) });
  const payload = (): unknown => {
    switch (kind) {
      case 'say':
      case 'fail':
      case 'sleep':
      case 'complete_case':
      case 'fail_case':
        return subject;
      case 'postpone_case':
        return { for: subject };
      case 'create_case':
        return { ...id, queue: step.content ?? asker.text(statement, `which queue should "${subject}" be added to?`), title: subject };
      case 'ask': {
        const question = {
          question: subject,
          ...(options === undefined ? {} : { options: options.map((label) => ({ label })) }),
          ...(step.multiSelect ? { multi_select: true } : {}),
        };
        return { ...idFrom(subject), ...supportedFields(kind, extraFields), questions: [question] };
      }
      case 'approve':
        return { ...idFrom(subject), title: subject, ...supportedFields(kind, extraFields) };
      case 'exec':
        return { ...id, run: subject, ...supportedFields(kind, extraFields) };
      case 'write':
      case 'remember':
        return { path: subject, content: step.content ?? asker.text(statement, `what should ${subject} contain?`) };
      case 'tool':
        return { ...id, name: subject, ...supportedFields(kind, extraFields) };
      case 'browse':
        return { ...id, url: subject, ...supportedFields(kind, extraFields) };
      case 'screenshot':
        return { ...id, path: subject, ...supportedFields(kind, extraFields) };
    }
  };
  return { ...(step.condition === undefined ? {} : { if: step.condition }), [kind]: payload() };
}

/** The extra keys that a step of this kind can have. */
function supportedFields(kind: StepKind, fields: Record<string, string>): Record<string, string> {
  const properties = (stepSchemas[kind] as { properties?: Record<string, unknown> }).properties ?? {};
  const keys = Object.keys(properties).filter((key) => Object.hasOwn(fields, key));
  return Object.fromEntries(keys.map((key) => [key, fields[key] as string]));
}

/** `Pay 3 invoices?` -> `pay_3_invoices`, with a number appended if that ID is taken. */
export function freeId(text: string, usedIds: readonly string[]): string {
  const words = text
    .normalize('NFKD')
    .replaceAll(/\{[{%].*?[}%]\}/g, ' ')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  const name = (words ?? []).slice(0, 3).join('_').slice(0, 40);
  const base = /^[a-z]/.test(name) ? name : name === '' ? 'answer' : `step_${name}`;
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? base : `${base}_${number}`;
    if (!usedIds.includes(id)) return id;
  }
}
