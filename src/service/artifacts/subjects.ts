/** The subjects of pages in words, both for reading requests and for writing titles. The queries are in data/sources.ts. */
import type { DataBlock, Field, Period, SubjectName } from './page.ts';

export interface Subject {
  readonly name: SubjectName;
  /** The words for it in a request. */
  readonly phrase: RegExp;
  readonly plural: string;
  /** Words for statuses, with the statuses that they stand for. */
  readonly statuses: Readonly<Record<string, readonly string[]>>;
  /** The fields that it can be counted by. */
  readonly fields: readonly Field[];
  readonly hasAgent: boolean;
}

const times: readonly Field[] = ['hour', 'day', 'week', 'month'];
const ownNames = (...words: string[]): Record<string, string[]> => Object.fromEntries(words.map((word) => [word, [word]]));

export const subjects: readonly Subject[] = [
  {
    name: 'requests',
    phrase: /\b(?:human[ -])?requests?\b/,
    plural: 'human requests',
    statuses: { ...ownNames('pending', 'answered', 'withdrawn'), open: ['pending'], waiting: ['pending'], unanswered: ['pending'] },
    fields: ['status', 'type', 'agent', ...times],
    hasAgent: true,
  },
  {
    name: 'deliveries',
    phrase: /\b(?:webhook[ -])?deliver(?:y|ies)\b|\bwebhooks?\b/,
    plural: 'webhook deliveries',
    statuses: { ...ownNames('pending', 'delivered', 'failed', 'cancelled'), open: ['pending'], successful: ['delivered'] },
    fields: ['status', 'event', ...times],
    hasAgent: false,
  },
  {
    name: 'cases',
    phrase: /\bcases?\b/,
    plural: 'cases',
    statuses: {
      ...ownNames('pending', 'postponed', 'completed', 'failed'),
      claimed: ['in_progress'],
      running: ['in_progress'],
      waiting: ['needs_input'],
      open: ['pending', 'in_progress', 'needs_input', 'postponed'],
      ended: ['completed', 'failed'],
      finished: ['completed', 'failed'],
    },
    fields: ['status', 'priority', 'queue', ...times],
    hasAgent: false,
  },
  {
    name: 'runs',
    phrase: /\bruns?\b/,
    plural: 'runs',
    statuses: {
      ...ownNames('pending', 'starting', 'running', 'waiting', 'completed', 'failed', 'interrupted'),
      stopped: ['interrupted'],
      successful: ['completed'],
      open: ['not_started', 'pending', 'starting', 'running', 'waiting'],
      active: ['not_started', 'pending', 'starting', 'running', 'waiting'],
      ended: ['completed', 'failed', 'interrupted'],
      finished: ['completed', 'failed', 'interrupted'],
    },
    fields: ['status', 'agent', 'source', ...times],
    hasAgent: true,
  },
  {
    name: 'agents',
    phrase: /\bagents\b/,
    plural: 'agents',
    statuses: {},
    fields: ['day', 'week', 'month'],
    hasAgent: false,
  },
  {
    name: 'usage',
    phrase: /\b(?:plan )?usage\b|\bplan limits?\b|\bbilling\b/,
    plural: 'usage',
    statuses: {},
    fields: [],
    hasAgent: false,
  },
];

export const subjectOf = (name: SubjectName): Subject => subjects.find((subject) => subject.name === name) as Subject;

const capital = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;

/** The heading of a block: `Failed runs of agent "x" in the last 7 days by status`. */
export function titleOf({ query, by, form }: Omit<DataBlock, 'id' | 'kind'>): string {
  const { plural } = subjectOf(query.subject);
  const noun = query.type === undefined ? plural : `${query.type}s`;
  if (query.subject === 'usage') return 'Plan usage';
  const words = [
    form === 'number' ? `number of ${query.status?.word ?? ''}`.trim() : query.status?.word,
    noun,
    query.queue && `in queue "${query.queue.name}"`,
    query.agent && `of agent "${query.agent.name}"`,
    query.period && periodWords(query.period),
    by && `by ${by}`,
  ];
  return capital(words.filter(Boolean).join(' '));
}

export function periodWords(period: Period): string {
  switch (period.kind) {
    case 'last':
      return period.count === 1 ? `in the last ${period.unit}` : `in the last ${period.count} ${period.unit}s`;
    case 'this':
      return period.unit === 'day' ? 'today' : `this ${period.unit}`;
    case 'yesterday':
      return 'yesterday';
    case 'since':
      return `since ${period.date}`;
  }
}
