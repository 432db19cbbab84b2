import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { scheduleOperations } from '../operations/schedules.ts';
import { DateTime, Named, Nullable, Words } from './common.ts';

const FrequencyWord = Words(['every_5_minutes', 'every_15_minutes', 'hourly', 'daily', 'workday', 'weekly', 'monthly', 'custom']);
const DayWord = Words(['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']);

/** When runs of an agent are started. Fields after `updated_at` that are marked so are extensions. */
export const Schedule = Named('Schedule', {
  id: Type.String(),
  build_id: Type.String(),
  agent_id: Type.String(),
  user_id: Type.String(),
  enabled: Type.Boolean(),
  frequency: FrequencyWord,
  /** HH:MM in the time zone. */
  time: Nullable(Type.String()),
  timezone: Type.String(),
  day: Nullable(Type.String()),
  day_of_month: Nullable(Type.Number()),
  cron: Nullable(Type.String()),
  source: Nullable(Type.String()),
  /** The message of its runs. */
  task: Nullable(Type.String()),
  /** False means that it fires once. */
  recurring: Nullable(Type.Boolean()),
  auto_disabled_at: Nullable(DateTime),
  auto_disabled_reason: Nullable(Type.String()),
  consecutive_missing_connection_failures: Type.Integer({ minimum: 0 }),
  first_missing_connection_failure_at: Nullable(DateTime),
  last_missing_connection_failure_at: Nullable(DateTime),
  created_at: DateTime,
  updated_at: DateTime,
  user_name: Type.Optional(Nullable(Type.String())),
  user_email: Type.Optional(Nullable(Type.String())),
  /** Extensions: the next time, the last one with its run, and the failures since then. */
  next_run_at: Type.Optional(Nullable(DateTime)),
  last_run_at: Type.Optional(Nullable(DateTime)),
  last_run_id: Type.Optional(Nullable(Type.String())),
  last_error: Type.Optional(Nullable(Type.String())),
  consecutive_failures: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type Schedule = Static<typeof Schedule>;

const times = {
  time: Type.Optional(Nullable(Type.String())),
  day: Type.Optional(Nullable(DayWord)),
  day_of_month: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 31 }))),
  cron: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  recurring: Type.Optional(Nullable(Type.Boolean())),
  /** An extension: the interface contains the field but not how to set it. */
  task: Type.Optional(Nullable(Type.String({ maxLength: 100_000 }))),
};

export const scheduleSchemas = {
  listAgentSchedules: { response: Type.Object({ schedules: Type.Array(Schedule) }) },
  createSchedule: {
    body: Type.Object({ enabled: Type.Boolean(), frequency: FrequencyWord, timezone: Type.String(), ...times }),
    response: Schedule,
  },
  updateSchedule: {
    body: Type.Object({
      enabled: Type.Optional(Type.Boolean()),
      frequency: Type.Optional(FrequencyWord),
      timezone: Type.Optional(Type.String()),
      ...times,
    }),
    response: Schedule,
  },
  deleteSchedule: { response: Type.Object({ success: Type.Boolean() }) },
} as const satisfies Record<keyof typeof scheduleOperations, OperationSchemas>;
