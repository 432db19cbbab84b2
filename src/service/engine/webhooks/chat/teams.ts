/** A message for a workflow of Microsoft Teams ("When a Teams webhook request is received"), as an adaptive card. Pure. */
import type { ChatMessage } from './message.ts';

/** `TextRun` has no formatting. `TextBlock` and `FactSet` would read Markdown, and with it links. */
const run = (text: string, style: object = {}) => ({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text, ...style }] });

export function teamsBody({ title, text, facts, linkLabel }: ChatMessage, link: string | undefined): object {
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          fallbackText: 'Open the team page to see what happened.',
          msteams: { width: 'Full' },
          body: [
            run(title, { size: 'Medium', weight: 'Bolder' }),
            ...text
              .split('\n')
              .filter((line) => line.trim() !== '')
              .map((line) => run(line)),
            ...facts.map(([label, value]) => run(`${label}: ${value}`, { isSubtle: true })),
          ],
          actions: link === undefined ? [] : [{ type: 'Action.OpenUrl', title: linkLabel, url: link }],
        },
      },
    ],
  };
}
