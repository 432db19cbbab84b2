/** An agent that follows a procedure. */
import { shellWord } from '../../../base/shell.ts';
import type { Template } from './template.ts';

const procedure = `# What the agent does, one step after the other. \`aops help procedures\` lists the kinds of steps.
version: 1
description: Pays an invoice if a person approves it.
steps:
  - approve:
      id: pay
      title: "Pay invoice {{ message }}?"
      on_deny: continue
  - write:
      path: report.md
      content: |
        # Invoice {{ message }}

        {% if answers.pay %}Paid.{% else %}Not paid{% if steps.pay.reason != '' %}: {{ steps.pay.reason }}{% else %}.{% endif %}{% endif %}
  - say: "{% if answers.pay %}Paid{% else %}Not paid{% endif %}. The report is in report.md."
`;

const tests = (name: string): string => `# \`aops agents test\` runs these tests on a temporary service.
version: 1
agent:
  name: ${JSON.stringify(name)}
  procedure: procedure.yaml
tests:
  - name: pays an invoice that was approved
    message: 2026-0042
    approvals:
      "Pay invoice *": true
    expect:
      requests: ["Pay invoice 2026-0042?"]
      messages: [Paid. The report is in report.md.]
      files:
        report.md: { contains: ["# Invoice 2026-0042", Paid.] }

  - name: does not pay an invoice that was denied
    message: 2026-0043
    approvals:
      "Pay invoice *": { approved: false, reason: We never ordered this. }
    expect:
      messages: [Not paid.]
      files:
        report.md: { contains: "Not paid: We never ordered this.", not_contains: Paid. }
`;

const readme = (name: string): string => `# ${name}

An agent that follows [a procedure](procedure.yaml): it asks for approval before it pays an invoice, and writes a report.
Nothing is really paid.

Test it, without a running service:

\`\`\`sh
aops agents test
\`\`\`

Run it on the local service. The run waits for your answer:

\`\`\`sh
aops local up
aops agents create ${shellWord(name)} --procedure procedure.yaml
aops runs start --agent ${shellWord(name)} --message 2026-0042 --watch
\`\`\`

After you have changed procedure.yaml and its [tests](agent.test.yaml), use the new procedure for new runs:

\`\`\`sh
aops agents update ${shellWord(name)} --procedure procedure.yaml
\`\`\`
`;

export const script: Template = {
  summary: 'a procedure: fixed steps without a model',
  needsProgram: false,
  files: ({ name }) => ({ 'procedure.yaml': procedure, 'agent.test.yaml': tests(name), 'README.md': readme(name) }),
  next: ({ name }) => ['aops agents test', 'aops local up', `aops agents create ${shellWord(name)} --procedure procedure.yaml`],
};
