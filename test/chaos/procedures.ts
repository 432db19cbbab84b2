/** What the runs of the suite do, and what each of them must have said at the end. */

/** The kinds of work of which a load consists. */
export const itemKinds = ['asking', 'talking', 'working', 'case'] as const;
export type ItemKind = (typeof itemKinds)[number];

/** The queue for cases, and those that `create_case` steps add to it. */
export const queueName = 'claims';

/** The agents by name, with their steps as YAML. */
export const procedures = {
  /** Asks two questions. Its effects are a line in the memory, and a case. */
  asking: `
- say: "one {{ message }}"
- ask: { id: name, questions: [{ question: "Which name?" }] }
- say: "two {{ answers.name }}"
- remember: { path: log.txt, content: "{{ message }}", append: true }
- approve: { id: pay, title: "Pay {{ message }}?", on_deny: continue }
- create_case: { queue: ${queueName}, title: "from {{ message }}", data: "{{ message }}" }
- say: "three {{ answers.pay }}"`,
  /** Receives another message, at any moment, and then says everything again. */
  talking: `
- say: "begin"
- sleep: 300ms
- say: "end {{ messages.size }} {{ message }}"`,
  /** Reads in a command what a previous step has written, on whichever node that was. */
  working: `
- write: { path: notes/file.txt, content: "{{ message }}" }
- exec: { id: wait, run: "sleep 0.3" }
- sleep: 200ms
- exec: { id: read, run: "cat notes/file.txt" }
- say: "read {{ steps.read.stdout }}"`,
  /** Takes the cases of the queue. */
  case: `
- say: "took {{ case.title }}"
- complete_case: "done {{ case.title }}"`,
  /** Is started by schedules. */
  scheduled: `
- say: "scheduled"`,
} as const;

export type AgentName = keyof typeof procedures;

/** The message of an item, which identifies it. */
export const messageOf = (item: number): string => `item-${item}`;
/** What the person answers to an item: a text for the question, and a decision for the approval. */
export const answerOf = (item: string): string => `answer-${item}`;
export const decisionOf = (item: string): boolean => Number(item.replace(/\D/g, '')) % 2 === 0;

/**
 * What an agent must have said, for its texts and the messages to it. A run that received a message says everything once or twice,
 * depending on when the message arrived, and the last time with both messages.
 * @returns what is wrong; undefined if nothing is
 */
export function wrongTexts(agent: AgentName, texts: readonly string[], messages: readonly string[]): string | undefined {
  const allowed = expectedTexts(agent, texts, messages);
  const said = JSON.stringify(texts);
  return allowed.some((expected) => JSON.stringify(expected) === said)
    ? undefined
    : `said ${said} instead of ${allowed.map((one) => JSON.stringify(one)).join(' or ')}`;
}

function expectedTexts(agent: AgentName, texts: readonly string[], messages: readonly string[]): string[][] {
  const [first = '', second] = messages;
  switch (agent) {
    case 'asking':
      return [[`one ${first}`, `two ${answerOf(first)}`, `three ${decisionOf(first)}`]];
    case 'working':
      return [[`read ${first}`]];
    case 'scheduled':
      return [['scheduled']];
    case 'case':
      // The message of the run is the title of its case and its data.
      return [[`took ${first.split('\n')[0]}`]];
    case 'talking': {
      if (second === undefined) return [['begin', `end 1 ${first}`]];
      const last = ['begin', `end 2 ${second}`];
      return texts.length > 2 ? [['begin', `end 1 ${first}`, ...last]] : [last];
    }
  }
}
