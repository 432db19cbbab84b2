/** Schedules of agents. */
import { createSchedule, removeSchedules, updateSchedule } from '../engine/agents/schedules.ts';
import type { GroupRoutes } from '../http/context.ts';
import { schedulesOf } from '../store/agents/schedules.ts';
import { scheduleView } from '../views/schedules.ts';
import { requireAgent } from './shared/lookups.ts';

export const scheduleRoutes: GroupRoutes<'schedules'> = {
  async listAgentSchedules(context, { params }) {
    const { store } = context.engine;
    const agent = await requireAgent(context, store, params.agent_id);
    const rows = (await schedulesOf(store, [agent.id])).get(agent.id) ?? [];
    return { schedules: rows.map((row) => scheduleView(row, agent)) };
  },

  async createSchedule(context, { params, body }) {
    const { engine, credentialId } = context;
    const schedule = await engine.store.transaction().execute(async (trx) => {
      const agent = await requireAgent(context, trx, params.agent_id);
      return scheduleView(await createSchedule(engine, trx, agent, body, credentialId), agent);
    });
    engine.worker.wake();
    return schedule;
  },

  async updateSchedule(context, { params, body }) {
    const { engine } = context;
    const schedule = await engine.store.transaction().execute(async (trx) => {
      const agent = await requireAgent(context, trx, params.agent_id);
      return scheduleView(await updateSchedule(engine, trx, { agentId: agent.id, scheduleId: params.schedule_id }, body), agent);
    });
    engine.worker.wake();
    return schedule;
  },

  async deleteSchedule(context, { params }) {
    return context.engine.store.transaction().execute(async (trx) => {
      const agent = await requireAgent(context, trx, params.agent_id);
      await removeSchedules(trx, agent.id, params.schedule_id);
      return { success: true };
    });
  },
};
