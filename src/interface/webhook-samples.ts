/**
 * Sample data for each kind of webhook event, for test events. The objects have the form of the interface; their IDs are new, so
 * requests for them are answered with 404.
 */
import type { Case, Connection, HumanRequest, Run, RunMessage, Webhook } from './types.ts';
import type { WebhookEventKind } from './webhook-events.ts';

interface SampleSource {
  teamId: string;
  /** ISO 8601. */
  now: string;
  newId(): string;
}

/** The `data` of a test event. */
export const sampleEventData = (kind: WebhookEventKind, source: SampleSource): Record<string, unknown> => samples[kind](new Sample(source));

const samples: Record<WebhookEventKind, (sample: Sample) => Record<string, unknown>> = {
  'run.started': (sample) => ({ run: sample.run('running') }),
  'run.paused': (sample) => ({ run: { ...sample.run('waiting'), pending_human_request: sample.request() } }),
  'run.completed': (sample) => ({ run: sample.run('completed') }),
  'run.failed': (sample) => ({ run: { ...sample.run('failed'), error: 'The invoice could not be read: page 2 is missing.' } }),
  'run.message.created': (sample) => ({
    ...sample.runIds(),
    message: sample.message('text', { text_content: 'Checked 12 invoices; one needs approval.' }),
  }),
  'run.tool_call.completed': (sample) => ({
    ...sample.runIds(),
    tool_call: { id: 'call_1', name: 'search_orders', arguments: { order: '4711' } },
    tool_result: { tool_call_id: 'call_1', result: { total: '120.00 EUR' } },
  }),
  'run.file.created': (sample) => ({
    ...sample.runIds(),
    file: { file_id: sample.newId(), name: 'invoice.png', mime_type: 'image/png', size: 48_213, created_at: sample.now },
  }),
  'human_request.created': (sample) => ({ ...sample.runIds(), human_request: sample.request() }),
  'human_request.reminder': (sample) => ({
    ...sample.runIds(),
    human_request: { ...sample.request(), reminders: 1, reminded_at: sample.now },
  }),
  'human_request.responded': (sample) => {
    const { id, title, description, created_at } = sample.request();
    const runIds = sample.runIds();
    return {
      ...runIds,
      human_request: { id, run_id: runIds.run_id, title, description, response: 'approved', responded_at: sample.now, created_at },
    };
  },
  'queue.case.created': (sample) => sample.case('pending'),
  'queue.case.claimed': (sample) => sample.case('in_progress'),
  'queue.case.completed': (sample) => sample.case('completed'),
  'assignment.build.published': (sample) => sample.build(),
  'connection.updated': (sample) => ({ connection: sample.connection() }),
  'connection.action_required': (sample) => ({
    connection: { ...sample.connection(), broken_at: sample.now, broken_reason: 'The server rejected the access token.' },
  }),
  'webhook.disabled': (sample) => ({ webhook: sample.disabledWebhook() }),
};

class Sample {
  readonly now: string;
  readonly #teamId: string;
  readonly #newId: () => string;

  constructor({ teamId, now, newId }: SampleSource) {
    this.now = now;
    this.#teamId = teamId;
    this.#newId = newId;
  }

  newId(): string {
    return this.#newId();
  }

  runIds(): { run_id: string; agent_id: string } {
    return { run_id: this.#newId(), agent_id: this.#newId() };
  }

  run(status: 'running' | 'waiting' | 'completed' | 'failed'): Run {
    return {
      id: this.#newId(),
      agent_id: this.#newId(),
      status,
      source: 'api',
      started_at: this.now,
      completed_at: status === 'completed' || status === 'failed' ? this.now : null,
      created_at: this.now,
      updated_at: this.now,
      sandbox_id: this.#newId(),
      human_in_the_loop_enabled: true,
      pending_human_request: null,
      build_id: this.#newId(),
      error: null,
      run_number: 42,
    };
  }

  request(): HumanRequest {
    return {
      id: this.#newId(),
      title: 'Pay invoice 4711?',
      description: '120.00 EUR to Example Ltd. The invoice matches the order.',
      created_at: this.now,
      type: 'approval',
    };
  }

  message(type: string, content: Partial<RunMessage>): RunMessage {
    return { id: this.#newId(), type, role: 'assistant', timestamp: this.now, ...content };
  }

  case(status: 'pending' | 'in_progress' | 'completed'): { case: Case; queue: { id: string; name: string } } {
    const queue = { id: this.#newId(), name: 'invoices' };
    const sampleCase: Case = {
      id: this.#newId(),
      queue_id: queue.id,
      title: 'Invoice 4711',
      data: '{"amount":"120.00 EUR"}',
      status: status === 'completed' ? 'completed' : 'pending',
      priority: 'medium',
      display_status: status,
      claimed_at: status === 'pending' ? null : this.now,
      claimed_by_run_id: status === 'pending' ? null : this.#newId(),
      completed_at: status === 'completed' ? this.now : null,
      postponed_to: null,
      created_at: this.now,
      updated_at: this.now,
      created_by_user_id: null,
      created_by_user_name: null,
      created_by_user_email: null,
      agent_run_status: status === 'pending' ? null : status === 'completed' ? 'completed' : 'running',
      agent_run_user_id: null,
      pending_human_request_id: null,
      pending_approval_batch_id: null,
      pending_approval_assignee_user_ids: [],
      approval_approved_count: 0,
      approval_rejected_count: 0,
      labels: [{ id: this.#newId(), key: 'month', value: 'March', color_hue: 210 }],
    };
    return { case: sampleCase, queue };
  }

  build() {
    const agent = { id: this.#newId(), name: 'invoice-check' };
    const revision = {
      id: this.#newId(),
      copilot_id: agent.id,
      agent_id: agent.id,
      name: agent.name,
      revision_name: 'Ask before paying',
      revision_description: null,
      status: 'live',
      revision_number: 3,
      parent_build_id: null,
      created_by: null,
      created_by_name: null,
      created_at: this.now,
      updated_at: this.now,
    };
    return { agent, build: revision };
  }

  connection(): Connection {
    return {
      id: this.#newId(),
      name: 'tickets',
      type: 'mcp',
      provider: 'user',
      user_id: null,
      team_id: this.#teamId,
      server_url: 'https://tickets.example.com/mcp',
      transport_type: 'http',
      auth_method: 'oauth',
      broken_at: null,
      broken_reason: null,
      created_at: this.now,
      updated_at: this.now,
    };
  }

  disabledWebhook(): Webhook {
    return {
      id: this.#newId(),
      team_id: this.#teamId,
      url: 'https://hooks.example.com/aops',
      events: ['run.failed'],
      description: null,
      enabled: false,
      status: 'disabled',
      disabled_reason: 'the receiver answered 410 (gone)',
      disabled_at: this.now,
      failing_since: this.now,
      last_delivered_at: null,
      created_at: this.now,
      updated_at: this.now,
    };
  }
}
