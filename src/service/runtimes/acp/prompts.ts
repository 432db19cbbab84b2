/** The text of prompts: the messages of people, and the answers that arrived while the agent was not running. Pure. */
import type { UnusedAnswer } from './requests.ts';

/** The first prompt if no message was sent. */
const defaultPrompt = 'Begin with your task.';
const interruption =
  'You were interrupted. Continue where you stopped. If you were about to use a tool, use it again with the same arguments.';

export interface PromptParts {
  /** The agent's task, for a new session of an agent that does not read it itself. */
  instructions: string | undefined;
  /** The conversation so far, if the earlier session cannot be continued. */
  transcript: string | undefined;
  /** Messages that the agent has not received yet, without those that answered requests. */
  messages: readonly string[];
  /** Whether an earlier process of the run has already worked on its messages. */
  isContinued: boolean;
  answers: readonly UnusedAnswer[];
}

export function promptText({ instructions, transcript, messages, isContinued, answers }: PromptParts): string {
  const parts = [
    ...(instructions === undefined ? [] : [instructions]),
    ...(transcript === undefined ? [] : [`This is the conversation so far:\n<transcript>\n${transcript}\n</transcript>`]),
  ];
  if (!isContinued) return [...parts, ...(messages.length === 0 ? [defaultPrompt] : messages)].join('\n\n');
  // An answer shows that the agent was interrupted, and otherwise the messages may have begun another turn.
  if (messages.length === 0 || answers.length > 0) parts.push(interruption, ...answers.map(answerText));
  return [...parts, ...messages].join('\n\n');
}

/** The part of a prompt about an answer that arrived while the agent was not running. */
function answerText({ title, answer }: UnusedAnswer): string {
  if (answer.type === 'question') {
    const lines = Object.entries(answer.answers).map(([question, text]) => `${question} ${Array.isArray(text) ? text.join(', ') : text}`);
    return `Your question was answered:\n${lines.join('\n')}`;
  }
  if (answer.approved) return `A person has approved this: ${title}`;
  return denialText({ title, reason: answer.reason });
}

export const denialText = ({ title, reason }: { title: string; reason: string | undefined }): string =>
  `A person has denied this: ${title}${reason === undefined || reason.trim() === '' ? '' : `\nThe reason: ${reason}`}`;
