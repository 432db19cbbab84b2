/** A message for an incoming webhook of Slack, in Block Kit. Pure. */
import type { ChatMessage } from './message.ts';

/** Longest texts of Slack, in characters. */
const limits = { header: 150, section: 3_000, fallback: 3_000 };

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Text in which Slack finds no mention (`<!channel>`, `<@U1>`), no link, and no entity. Cut so that it is not longer than `maximum`
 * afterwards; no entity is cut in half.
 */
export function escapedText(text: string, maximum: number): string {
  const parts = [...text].map((character) => entities[character] ?? character);
  if (lengthOf(parts) <= maximum) return parts.join('');
  while (lengthOf(parts) >= maximum) parts.pop();
  return `${parts.join('')}…`;
}

const lengthOf = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + part.length, 0);

/** Unlike `mrkdwn`, it has no formatting, and addresses in it do not become links. */
const plainText = (text: string, maximum: number) => ({ type: 'plain_text', text: escapedText(text, maximum), emoji: false });

export function slackBody({ title, text, facts, linkLabel }: ChatMessage, link: string | undefined): object {
  const factLines = facts.map(([label, value]) => `${label}: ${value}`).join('\n');
  return {
    // For notifications and screen readers. Formatting is off, because an agent wrote most of it.
    text: escapedText(title, limits.fallback),
    mrkdwn: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plainText(title, limits.header) },
      ...[text, factLines].filter((part) => part !== '').map((part) => ({ type: 'section', text: plainText(part, limits.section) })),
      // The only text with formatting: nothing in it comes from an event.
      ...(link === undefined ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: `<${link}|${linkLabel}>`, verbatim: true } }]),
    ],
  };
}
