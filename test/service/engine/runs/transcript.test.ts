/** The transcript that an agent receives when it continues a run without its session. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startExecution } from '../../helpers/execution.ts';

interface Message {
  type?: string;
  role?: string;
  text?: string;
  call?: string;
  result?: string;
}

async function transcriptOf(...messages: Message[]): Promise<string> {
  const { db, session } = await startExecution();
  for (const [index, { type = 'text', role = 'assistant', text = null, call = null, result = null }] of messages.entries())
    await sql`insert into messages (run_id, seq, id, turn, type, role, text_content, tool_call, tool_result, timestamp)
      values ('r', ${index + 1}, ${`m${index}`}, 1, ${type}, ${role}, ${text}, ${call}, ${result}, '')`.execute(db);
  return session.transcript();
}

describe('a transcript', () => {
  it('contains what people and the agent said, and the tools that were used, oldest first', async () => {
    const transcript = await transcriptOf(
      { role: 'user', text: 'Check the total.' },
      { type: 'tool_call', call: '{"name":"exec"}' },
      { type: 'tool_result', result: '{"exit_code":0}' },
      { text: 'It is 7.' },
    );
    expect(transcript).toBe('User: Check the total.\nTool call: {"name":"exec"}\nTool result: {"exit_code":0}\nAssistant: It is 7.');
  });

  it('leaves out thoughts, notices, and messages without text', async () => {
    const transcript = await transcriptOf(
      { type: 'thought', text: 'Perhaps 6.' },
      { type: 'notice', text: 'The agent was restarted.' },
      {},
      { text: 'It is 7.' },
    );
    expect(transcript).toBe('Assistant: It is 7.');
  });

  it('leaves out the earliest messages of a long run, and says so', async () => {
    const long = (letter: string): Message => ({ text: letter.repeat(60_000) });
    const transcript = await transcriptOf(long('a'), long('b'), { text: 'The end.' });
    expect(transcript.replace(/b+/, 'b')).toBe('[Earlier messages are left out.]\nAssistant: b\nAssistant: The end.');
  });

  it('cuts long calls and results', async () => {
    const transcript = await transcriptOf(
      { type: 'tool_call', call: 'c'.repeat(4_001) },
      { type: 'tool_result', result: 'r'.repeat(4_001) },
    );
    expect(transcript).toBe(`Tool call: ${'c'.repeat(4_000)}\nTool result: ${'r'.repeat(4_000)}`);
  });
});
