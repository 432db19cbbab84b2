/** Rules for steps that a schema cannot express: limits of durations, keys that exclude each other, texts that must differ. */
import { formatDuration, parseDuration } from '../../../base/duration.ts';
import type { Finding } from '../document/findings.ts';
import type { Path } from '../document/source.ts';
import { maxBrowseTimeout, maxExecTimeout, maxSleep, maxToolTimeout, type Payload, type Step } from './schema.ts';

/** Violations of the rules by a step with the right structure. */
export function checkRules(step: Step): Finding[] {
  switch (step.kind) {
    case 'exec':
      return duration(step.payload.timeout, ['timeout'], { max: maxExecTimeout, positive: true });
    case 'browse':
      return [...duration(step.payload.timeout, ['timeout'], { max: maxBrowseTimeout, positive: true }), ...browseFindings(step.payload)];
    case 'sleep':
      return duration(step.payload, [], { max: maxSleep });
    case 'tool': {
      if (step.payload.connection !== undefined) return calling(step.payload);
      const hasBoth = step.payload.error !== undefined && step.payload.result !== undefined;
      const findings = duration(step.payload.takes, ['takes'], { max: maxSleep });
      for (const key of ['timeout', 'on_error'] as const)
        if (step.payload[key] !== undefined) findings.push({ message: `\`${key}\` requires a \`connection\``, path: [key], onKey: true });
      if (hasBoth) findings.push({ message: '`tool` has a `result` and an `error`; use one of them', path: ['error'], onKey: true });
      return findings;
    }
    case 'write':
    case 'remember': {
      const sources = Number(step.payload.content !== undefined) + Number(step.payload.json !== undefined);
      if (sources === 1) return [];
      return [
        {
          message:
            sources === 0
              ? `\`${step.kind}\` needs \`content\` or \`json\``
              : `\`${step.kind}\` has \`content\` and \`json\`; use one of them`,
          path: [],
          onKey: true,
        },
      ];
    }
    case 'ask':
      return questions(step.payload.questions);
    case 'postpone_case': {
      const findings = duration(step.payload.for, ['for'], { max: maxSleep, positive: true });
      if ((step.payload.for === undefined) !== (step.payload.until === undefined)) return findings;
      const message =
        step.payload.for === undefined
          ? '`postpone_case` needs `for` or `until`'
          : '`postpone_case` has `for` and `until`; use one of them';
      return [...findings, { message, path: [], onKey: true }];
    }
    case 'create_case': {
      if (step.payload.data === undefined || step.payload.json === undefined) return [];
      return [{ message: '`create_case` has `data` and `json`; use one of them', path: ['json'], onKey: true }];
    }
    default:
      return [];
  }
}

/** A tool of a connection provides its own result. */
function calling(payload: Payload<'tool'>): Finding[] {
  const findings = (['result', 'error', 'takes'] as const)
    .filter((key) => payload[key] !== undefined)
    .map((key): Finding => ({ message: `\`${key}\` cannot be combined with \`connection\``, path: [key], onKey: true }));
  return [...findings, ...duration(payload.timeout, ['timeout'], { max: maxToolTimeout, positive: true })];
}

function browseFindings({ url, actions = [] }: Payload<'browse'>): Finding[] {
  const findings: Finding[] = [];
  if (url === undefined && actions.length === 0)
    findings.push({ message: '`browse` needs `url`, `actions`, or both', path: [], onKey: true });
  const read = new Set<string>();
  for (const [index, action] of actions.entries()) {
    const path = ['actions', index];
    const { wait_for: waitFor, extract } = action;
    const kinds = Object.keys(action);
    if (kinds.length !== 1) findings.push({ message: severalActions(kinds), path });
    if (waitFor !== undefined && Object.keys(waitFor).length !== 1)
      findings.push({ message: '`wait_for` needs one of `selector`, `text`, `url`, or `gone`', path: [...path, 'wait_for'], onKey: true });
    if (extract !== undefined && read.has(extract.name))
      findings.push({ message: `\`${extract.name}\` is extracted twice`, path: [...path, 'extract', 'name'] });
    if (extract !== undefined) read.add(extract.name);
  }
  return findings;
}

const severalActions = (kinds: readonly string[]): string =>
  kinds.length === 0
    ? 'this action does nothing'
    : `an action can do only one thing; write ${kinds.map((kind) => `\`${kind}\``).join(' and ')} as separate actions`;

function questions(list: Payload<'ask'>['questions']): Finding[] {
  return list.flatMap((question, index) => {
    const path = ['questions', index];
    const findings: Finding[] = [];
    if (question.multi_select && !question.options)
      findings.push({ message: '`multi_select` needs `options` to choose from', path: [...path, 'multi_select'], onKey: true });
    if (list.findIndex((candidate) => candidate.question === question.question) < index) {
      findings.push({
        message: 'this question is asked twice; each question must be different, because it identifies the answer',
        path: [...path, 'question'],
      });
    }
    const labels = question.options?.map((option) => option.label) ?? [];
    const repeatedIndex = labels.findIndex((label, position) => labels.indexOf(label) < position);
    if (repeatedIndex >= 0)
      findings.push({ message: `the option \`${labels[repeatedIndex]}\` appears twice`, path: [...path, 'options', repeatedIndex] });
    return findings;
  });
}

function duration(text: string | undefined, path: Path, { max, positive = false }: { max: number; positive?: boolean }): Finding[] {
  const milliseconds = text === undefined ? undefined : parseDuration(text);
  if (milliseconds === undefined) return [];
  if (positive && milliseconds === 0) return [{ message: `\`${path.at(-1)}\` must be longer than 0`, path }];
  return milliseconds > max ? [{ message: `\`${text}\` is too long; at most ${formatDuration(max)} is allowed`, path }] : [];
}
