/**
 * What minimal servers do for the operations that are compared: the statements that the service executes, or for a run those that
 * cannot be left out, on the same tables. `test/service/http/floor.test.ts` checks that they are those of the service.
 */
import { createHash, randomUUID } from 'node:crypto';

/** The queries of the service for a run, and for a page of the list with its total. */
export const queries = {
  run: 'select * from "runs" where "id" = ? and "team_id" = ?',
  page: [
    'select "runs"."id", "runs"."agent_id", "runs"."build_id", "runs"."run_number", "runs"."title", "runs"."status", "runs"."source",',
    '"runs"."sandbox_id", "runs"."case_id", "runs"."submitted_prompt_count", "runs"."error", "runs"."created_at", "runs"."updated_at",',
    '"runs"."started_at", "runs"."completed_at", "agents"."name" as "agent_name", "cases"."queue_id" as "case_queue_id",',
    '"queues"."name" as "case_queue_name", "cases"."title" as "case_title", "cases"."postponed_to" as "postponed_to",',
    '"evaluations"."status" as "eval_status", "evaluations"."passed" as "eval_passed", "evaluations"."total" as "eval_total",',
    '"evaluations"."critical" as "eval_critical", "evaluations"."medium" as "eval_medium", "evaluations"."low" as "eval_low",',
    '"evaluations"."comment" as "eval_comment" from "runs" inner join "agents" on "agents"."id" = "runs"."agent_id"',
    'left join "cases" on "cases"."id" = "runs"."case_id" left join "queues" on "queues"."id" = "cases"."queue_id"',
    'left join "evaluations" on "evaluations"."run_id" = "runs"."id" where "runs"."id" in (select "runs"."id" from "runs"',
    'where "runs"."team_id" = ? and 1 = 1 order by "runs"."created_at" desc, "runs"."run_number" desc limit ? offset ?)',
    'order by "runs"."created_at" desc, "runs"."run_number" desc',
  ].join(' '),
  total: 'select "status", sum("runs") as "runs" from "run_totals" where "team_id" = ? group by "status"',
};

/** The columns of a table that a change sets. */
const insert = (table, columns) => `insert into ${table} (${columns}) values (${columns.replaceAll(/\w+/g, '?')})`;

const now = () => new Date().toISOString();

/** IDs that begin with the time, like those of the service: random ones would each be on a different page. */
const newId = () => {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
};

/** A run as the interface returns it. */
const runView = (row) => ({
  id: row.id,
  agent_id: row.agent_id,
  build_id: row.build_id,
  status: row.status,
  source: row.source,
  started_at: row.started_at,
  completed_at: row.completed_at,
  created_at: row.created_at,
  updated_at: row.updated_at,
  sandbox_id: row.sandbox_id,
  human_in_the_loop_enabled: true,
  error: row.error,
  run_number: row.run_number,
  pending_human_request: null,
});

/** Answers a request for one run. */
export function getRun(database, { team }) {
  const find = database.first(queries.run);
  return (url) => JSON.stringify({ run: runView(find(url.slice('/v2/runs/'.length), team)), pending_human_request: null });
}

/** A run as an item of a list, from the columns of its row. */
const listItem = (row) => ({
  id: row[0],
  agent_id: row[1],
  build_id: row[2],
  status: row[5],
  source: row[6],
  started_at: row[13],
  completed_at: row[14],
  created_at: row[11],
  updated_at: row[12],
  sandbox_id: row[7],
  human_in_the_loop_enabled: true,
  error: row[10],
  pending_human_request: null,
  title: row[4],
  run_number: row[3],
  agent_name: row[15],
  user_id: null,
  case_queue_item_id: row[8],
  case_queue_id: row[16],
  case_queue_name: row[17],
  case_title: row[18],
  postponed_to: row[19],
  submitted_prompt_count: row[9],
  eval_summaries: row[20] === null ? null : { status: row[20], passed: row[21], total: row[22] },
});

const limit = 20;

/** Answers a request for a page of the list, and reads pages without a server. */
export function listRuns(database, { team }) {
  const page = database.rows(queries.page);
  const total = database.rows(queries.total);
  const readPage = (offset) => ({ rows: page(team, limit + 1, offset), totals: total(team) });
  return {
    answer(url) {
      const { rows, totals } = readPage(Number(/offset=(\d+)/.exec(url)?.[1] ?? 0));
      const data = JSON.parse(rows).slice(0, limit).map(listItem);
      return JSON.stringify({ data, total: JSON.parse(totals).reduce((sum, [, runs]) => sum + runs, 0) });
    },
    read(count) {
      for (let index = 0; index < count; index += 1) readPage((limit * index) % 2_000);
    },
  };
}

/** What a change with an idempotency key reads and writes in addition. */
function keys(database) {
  const find = database.first('select * from idempotency_keys where credential_id = ? and key = ?');
  const store = database.change(
    insert('idempotency_keys', 'credential_id, key, fingerprint, status, content_type, location, body, request_id, expires_at, size'),
  );
  return {
    /** Returns the fingerprint of a request whose key is new. */
    check(credential, key, url, body) {
      if (find(credential, key) !== undefined) throw new Error('A key was used twice.');
      return createHash('sha256').update(`POST\n${url}\n`).update(body).digest('hex');
    },
    store(credential, key, fingerprint, answer) {
      const expiry = Date.now() + 86_400_000;
      store(credential, key, fingerprint, 200, 'application/json', null, answer, newId(), expiry, answer.length);
    },
  };
}

/** Creates an agent without a revision under an idempotency key. */
export function createAgent(database, { team, credential }) {
  const key = keys(database);
  const named = database.first('select * from agents where team_id = ? and name = ? and deleted_at is null');
  const add = database.change(
    insert(
      'agents',
      'id, team_id, name, name_folded, slack_enabled, microsoft_teams_enabled, agentic_memory_enabled, thread_id, automation_id, live_build_id, pinned_at, created_at, updated_at, deleted_at',
    ),
  );
  return (url, idempotencyKey, body) =>
    database.write(() => {
      const fingerprint = key.check(credential, idempotencyKey, url, body);
      const { name } = JSON.parse(body);
      if (named(team, name) !== undefined) throw new Error('A name was used twice.');
      const [id, time] = [newId(), now()];
      add(id, team, name, name.toLowerCase(), 0, 0, null, null, null, null, null, time, time, null);
      const answer = JSON.stringify({ agent: { id, name, team_id: team, created_at: time, updated_at: time, live_build_id: null } });
      key.store(credential, idempotencyKey, fingerprint, answer);
      return answer;
    });
}

/**
 * Starts and executes runs of one step, in three commits: the run and its job; its claim; and its message, its journal entry, its end, and
 * its evaluation. The job is handed over in memory instead of being looked for.
 */
export function startRun(database, { team, credential }) {
  const key = keys(database);
  const agentWithBuild = database.first(
    'select agents.*, builds.config from agents join builds on builds.id = agents.live_build_id where agents.id = ? and agents.team_id = ? and agents.deleted_at is null',
  );
  const lastNumber = database.first('select max(run_number) as last from runs where team_id = ?');
  const addSandbox = database.change(insert('sandboxes', 'id, team_id, created_at'));
  const addRun = database.change(
    insert(
      'runs',
      'id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime, procedure_hash, turn, submitted_prompt_count, resume_count, created_at, updated_at',
    ),
  );
  const totals = 'insert into run_totals (team_id, agent_id, source, status, runs) values';
  const counted = 'on conflict (team_id, agent_id, status, source) do update set runs = run_totals.runs + excluded.runs';
  const count = database.change(`${totals} (?, ?, 'api', 'pending', 1) ${counted}`);
  const move = database.change(`${totals} (?, ?, 'api', ?, -1), (?, ?, 'api', ?, 1) ${counted}`);
  const addJob = database.change(insert('jobs', 'id, kind, subject_id, status, due_at, lane'));
  const claimJob = database.change(
    `update jobs set status = 'running', owner = ?, due_at = ?, epoch = epoch + 1, attempts = attempts + 1 where id = ? and status = 'queued'`,
  );
  const beginRun = database.change(
    `update runs set status = 'running', started_at = ?, updated_at = ? where id = ? and status = 'pending'`,
  );
  const held = database.first(
    `select runs.status from jobs join runs on runs.id = jobs.subject_id where jobs.id = ? and jobs.epoch = ? and jobs.status = 'running'`,
  );
  const addMessage = database.change(insert('messages', 'run_id, seq, id, turn, event_id, type, role, text_content, timestamp'));
  const addStep = database.change(insert('journal', 'run_id, turn, step, result, created_at'));
  const endRun = database.change(
    `update runs set status = 'completed', completed_at = ?, updated_at = ? where id = ? and status = 'running'`,
  );
  const addEvaluation = database.change(
    insert('evaluations', 'run_id, status, passed, total, critical, medium, low, issues, results, created_at, updated_at'),
  );
  const endJob = database.change(`update jobs set status = 'done', owner = null where id = ? and epoch = ? and status = 'running'`);
  const { procedure_hash: procedure } = database.first('select procedure_hash from runs limit 1')();
  const results = database.first(`select results from evaluations where status = 'ready' limit 1`)().results;
  const agents = new Map();
  let completed = 0;

  async function execute({ run, job, agent }) {
    await database.write(() => {
      const time = now();
      claimJob('floor', Date.now() + 15_000, job);
      beginRun(time, time, run);
      move(team, agent, 'pending', team, agent, 'running');
    });
    await database.write(() => {
      const time = now();
      if (held(job, 1).status !== 'running') throw new Error('A run was lost.');
      addMessage(run, 1, newId(), 1, 'step:1', 'message', 'assistant', 'Done.', time);
      addStep(run, 1, 'step:1', '{}', time);
      endRun(time, time, run);
      move(team, agent, 'running', team, agent, 'completed');
      addEvaluation(run, 'ready', 4, 4, 0, 0, 0, 0, results, time, time);
      endJob(job, 1);
    });
    completed += 1;
  }

  const start = async (url, idempotencyKey, body) => {
    const work = { run: newId(), sandbox: newId(), job: newId() };
    const answer = await database.write(() => {
      const fingerprint = key.check(credential, idempotencyKey, url, body);
      work.agent = JSON.parse(body).agent_id;
      const agent = agentWithBuild(work.agent, team);
      // The procedure is parsed once.
      if (!agents.has(agent.live_build_id)) agents.set(agent.live_build_id, JSON.parse(agent.config));
      const number = lastNumber(team).last + 1;
      const time = now();
      const title = `${agent.name} #${number}`;
      const row = { id: work.run, agent_id: agent.id, build_id: agent.live_build_id, run_number: number, status: 'pending', source: 'api' };
      addSandbox(work.sandbox, team, time);
      addRun(
        ...[work.run, team, agent.id, agent.live_build_id, number, title, title.toLowerCase(), 'pending', 'api', work.sandbox],
        ...['script', procedure, 1, 0, 0, time, time],
      );
      count(team, agent.id);
      addJob(work.job, 'run', work.run, 'queued', Date.now(), team);
      const view = runView({ ...row, created_at: time, updated_at: time, sandbox_id: work.sandbox });
      const text = JSON.stringify({ run: view });
      key.store(credential, idempotencyKey, fingerprint, text);
      return text;
    });
    execute(work).catch((error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    });
    return answer;
  };
  return { start, completed: () => completed };
}
