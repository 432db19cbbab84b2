/** The sources whose words belong to the argument in front of them on the line, without the code that reads them. */
import type { RemoteSource } from '../kit/flags.ts';

export const ownerOf = {
  labels: 'queues',
  schedules: 'agents',
  rubrics: 'agents',
  memory: 'agents',
} as const satisfies Partial<Record<RemoteSource, 'agents' | 'queues'>>;

export type OwnedSource = keyof typeof ownerOf;

export const isOwned = (name: string): name is OwnedSource => Object.hasOwn(ownerOf, name);
