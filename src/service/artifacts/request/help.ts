/** What the generator understands, said when it does not. docs/artifacts.md has it in full. */
export const understood: readonly string[] = [
  '`runs of the last 7 days by status`, `failed runs of agent "x"`, `open human requests`, `cases of queue "x" by priority`, `webhook deliveries by event`, `agents`, `usage`',
  '`table of ...`, `list of ...`, `bar chart of ... by ...`, `line chart of ... by day`, `number of ...`',
  '`by` status, agent, source, type, event, priority, queue, hour, day, week, month',
  '`of the last N hours|days|weeks|months`, `today`, `yesterday`, `this week|month|year`, `since 2026-07-01`',
  '`title "..."`, `text "..."`',
  '`remove ...`, `move ... up|down|to the top|to the end`, `make it a table`, `as a bar chart`, `by agent`, `start over`',
];
