/** Turns a block request into a block of a page. Asks about anything that is ambiguous, and refuses what is impossible. */
import { nearest } from '../../../base/nearest.ts';
import type { Asker } from '../../words/asking.ts';
import { RefusalError } from '../../words/outcome.ts';
import type { Statement } from '../../words/statements.ts';
import { type DataBlock, type Field, type Form, type Query, timeFields } from '../page.ts';
import { type Subject, subjectOf } from '../subjects.ts';
import type { BlockRequest, FormWord } from './block-request.ts';

export interface NamedResource {
  id: string;
  name: string;
}

/** The names that requests can use. */
export interface TeamNames {
  agents: readonly NamedResource[];
  queues: readonly NamedResource[];
}

export interface Tools {
  asker: Asker;
  names: TeamNames;
  statement: Statement;
}

type Draft = Pick<DataBlock, 'query' | 'by' | 'form'>;

/** The maximum number of options in a question. */
const maxOptions = 20;

/** The block that a request describes, or the changed form of an old block. @throws OpenQuestion, RefusalError */
export function blockFrom(blockRequest: BlockRequest, old: Draft | undefined, tools: Tools): Draft {
  const base = old && (blockRequest.subject === undefined || blockRequest.subject === old.query.subject) ? old : undefined;
  const subject = subjectOf(blockRequest.subject ?? (old as Draft).query.subject);
  if (subject.name === 'usage') {
    if (blockRequest.by ?? blockRequest.period ?? blockRequest.statuses ?? blockRequest.agent)
      throw new RefusalError('Usage covers the whole plan in the current period; it cannot be filtered or grouped.');
    return { query: { subject: 'usage' }, form: 'bars' };
  }
  const query: Query = {
    ...base?.query,
    subject: subject.name,
    ...statusOf(subject, blockRequest),
    ...(blockRequest.type && { type: blockRequest.type }),
    ...(blockRequest.period && { period: blockRequest.period }),
    ...agentOf(subject, blockRequest, tools),
    ...queueOf(subject, blockRequest, base, tools),
  };
  const shape = shapeOf(subject, blockRequest, base, tools);
  return { query, ...shape };
}

function statusOf({ statuses, plural }: Subject, blockRequest: BlockRequest): Pick<Query, 'status'> {
  if (blockRequest.statuses === undefined) return {};
  const values = blockRequest.statuses.map((word) => {
    const status = statuses[word];
    if (status) return status;
    const words = Object.keys(statuses);
    throw new RefusalError(
      words.length === 0
        ? `${upper(plural)} have no status, so they cannot be "${word}".`
        : `${upper(plural)} cannot be "${word}"; they can be ${words.join(', ')}.`,
    );
  });
  return { status: { word: blockRequest.statuses.join(' or '), values: [...new Set(values.flat())] } };
}

function agentOf(subject: Subject, { agent }: BlockRequest, tools: Tools): Pick<Query, 'agent'> {
  if (agent === undefined) return {};
  if (!subject.hasAgent) throw new RefusalError(`${upper(subject.plural)} do not belong to an agent.`);
  return { agent: resolveName(agent, 'agent', tools.names.agents, tools) };
}

function queueOf(subject: Subject, { queue }: BlockRequest, base: Draft | undefined, tools: Tools): Pick<Query, 'queue'> {
  if (subject.name !== 'cases') {
    if (queue !== undefined) throw new RefusalError(`${upper(subject.plural)} are not in a queue.`);
    return {};
  }
  if (queue !== undefined) return { queue: resolveName(queue, 'queue', tools.names.queues, tools) };
  return base === undefined ? wholeQueues(tools) : {};
}

/** The queue of cases when the request does not name one. */
function wholeQueues({ asker, names, statement }: Tools): Pick<Query, 'queue'> {
  if (names.queues.length < 2 || /\ball (?:the )?(?:queues|cases)\b|\bby queue\b|\bper queue\b/.test(statement.words)) return {};
  const queue = asker.choose({ question: `"${statement.text}": which queue should the cases come from?`, header: 'Queue' }, [
    { label: 'All queues', value: undefined },
    ...names.queues.slice(0, maxOptions).map((queue) => ({ label: queue.name, value: queue })),
  ]);
  return queue === undefined ? {} : { queue: { id: queue.id, name: queue.name } };
}

/** The agent or queue with that name, or the one that is chosen instead. */
function resolveName(
  text: string,
  kind: 'agent' | 'queue',
  candidates: readonly NamedResource[],
  { asker, statement }: Tools,
): NamedResource {
  const match =
    candidates.find(({ id, name }) => id === text || name === text) ??
    candidates.find(({ name }) => name.toLowerCase() === text.toLowerCase());
  if (match) return { id: match.id, name: match.name };
  if (candidates.length === 0) throw new RefusalError(`There is no ${kind} "${text}"; the team has no ${kind}s yet.`);
  // The likely one comes first, because a long list is cut off.
  const nearestName = nearest(
    text,
    candidates.map(({ name }) => name),
  );
  const options = [...candidates].sort((a, b) => Number(b.name === nearestName) - Number(a.name === nearestName)).slice(0, maxOptions);
  const choice = asker.choose(
    { question: `"${statement.text}": there is no ${kind} "${text}". Which one do you mean?`, header: upper(kind) },
    options.map((option) => ({ label: option.name, value: option })),
  );
  return { id: choice.id, name: choice.name };
}

function shapeOf(subject: Subject, blockRequest: BlockRequest, base: Draft | undefined, tools: Tools): { form: Form; by?: Field } {
  // A list and a number show the things themselves, so they are grouped only on request.
  const by = blockRequest.form === 'list' || blockRequest.form === 'number' ? blockRequest.by : (blockRequest.by ?? base?.by);
  if (by !== undefined && !subject.fields.includes(by)) {
    throw new RefusalError(`${upper(subject.plural)} cannot be counted by ${by}; they can be counted by ${subject.fields.join(', ')}.`);
  }
  const groupedForm = base?.by === undefined ? 'bars' : base.form;
  const word = blockRequest.form ?? (blockRequest.by === undefined ? base?.form : groupedForm);
  const form = formOf(word, by, tools);
  if (form === 'table' || form === 'number') return by === undefined || form === 'number' ? { form } : { form, by };
  const fields = form === 'line' ? subject.fields.filter((field) => timeFields.includes(field)) : subject.fields;
  if (by !== undefined && fields.includes(by)) return { form, by };
  const groupField = tools.asker.choose(
    {
      question: `"${tools.statement.text}": what should a ${form === 'line' ? 'line' : 'bar'} chart of ${subject.plural} count by?`,
      header: 'Count by',
    },
    fields.map((field) => ({ label: field, value: field })),
  );
  return { form, by: groupField };
}

function formOf(word: FormWord | undefined, by: Field | undefined, { asker, statement }: Tools): Form {
  switch (word) {
    case undefined:
      return by === undefined ? 'table' : 'bars';
    case 'list':
      return 'table';
    case 'chart':
      return 'bars';
    case 'number':
      // "How many runs by status" is not a single number.
      return by === undefined ? 'number' : 'bars';
    case 'pie':
      return asker.choose<Form>(
        { question: `"${statement.text}": pie charts are not available. What would you like instead?`, header: 'Form' },
        [
          { label: 'Bar chart', description: 'Lengths are easier to compare than angles', value: 'bars' },
          { label: 'Table', value: 'table' },
        ],
      );
    default:
      return word;
  }
}

const upper = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;
