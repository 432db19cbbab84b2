/** The positions of readers in all streams, except for those in a run, and their bytes in a token. */
import { type RunPosition, readRunPosition, writeRunPosition } from './run-position.ts';
import type { TokenReader, TokenWriter } from './token-bytes.ts';

interface Point {
  /** The number of the last event. */
  readonly seq: number;
}

/** A position in a stream of the events of one or several runs. */
export interface RunsPoint extends Point {
  readonly stream: 'runs';
  /** Run IDs and positions. A run that is not in the map is read from its beginning. */
  readonly runs: ReadonlyMap<string, RunPosition>;
}

/** A request that was reported as pending. */
export interface KnownRequest {
  readonly runId: string;
  readonly title: string;
  /** When the service last reminded of it, ISO 8601, as far as that was reported. */
  readonly remindedAt: string | undefined;
}

/** A position in the human requests of a team. */
export interface InboxPoint extends Point {
  readonly stream: 'inbox';
  /** Identifies the team and the filter. */
  readonly scope: string;
  /** The requests that were reported as pending, by their IDs. */
  readonly pending: ReadonlyMap<string, KnownRequest>;
}

/** A position in a builder run. */
export interface BuilderRunPoint extends Point {
  readonly stream: 'builder_run';
  readonly buildId: string;
  readonly builderRunId: string;
  /** The last reported status and phase; null before the first. */
  readonly status: string | null;
  readonly phase: string | null;
  /** The questions that were reported as pending. */
  readonly questionId: string | undefined;
  /** Whether its proposal or its end was reported. */
  readonly isReported: boolean;
}

/** A position in the generations of an artifact. */
export interface ArtifactPoint extends Point {
  readonly stream: 'artifact';
  readonly artifactId: string;
  /** The last reported status; null before the first. */
  readonly status: string | null;
  /** The last message before the position; undefined before the first. */
  readonly lastMessageId: string | undefined;
  /** The question that was reported as pending. */
  readonly questionId: string | undefined;
  /** Whether the end of the generation was reported. */
  readonly isReported: boolean;
}

/** A delivery that was printed. */
export interface TakenDelivery {
  readonly id: string;
  /** When it was recorded, in milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A position in the deliveries of a webhook. */
export interface DeliveriesPoint extends Point {
  readonly stream: 'deliveries';
  readonly webhookId: string;
  /** The last deliveries before the position, oldest first. */
  readonly taken: readonly TakenDelivery[];
}

/** A position in the deliveries that were received on this machine, which records them in a journal. */
export interface ReceivedPoint extends Point {
  readonly stream: 'received';
  readonly journalId: string;
}

/** A position that is stored in a file of this machine, because it is long. */
export interface StoredPoint extends Point {
  readonly stream: 'stored';
  readonly journalId: string;
}

export type ResumePoint = RunsPoint | InboxPoint | BuilderRunPoint | ArtifactPoint | DeliveriesPoint | ReceivedPoint | StoredPoint;

interface Codec<Kind extends ResumePoint> {
  /** The number that stands for the stream in a token. */
  readonly code: number;
  write(writer: TokenWriter, point: Kind): void;
  /** @throws RangeError */
  read(reader: TokenReader, seq: number): Kind;
}

/** A text that may be missing, which is not the same as an empty one. */
const writeOptional = (writer: TokenWriter, value: string | null | undefined): TokenWriter =>
  value == null ? writer.number(0) : writer.number(1).text(value);
const readOptional = (reader: TokenReader): string | undefined => (reader.number() === 0 ? undefined : reader.text());
const writeFlag = (writer: TokenWriter, value: boolean): TokenWriter => writer.number(value ? 1 : 0);

export const codecs: { readonly [Stream in ResumePoint['stream']]: Codec<Extract<ResumePoint, { stream: Stream }>> } = {
  runs: {
    code: 1,
    write(writer, { runs }) {
      writer.number(runs.size);
      for (const [id, position] of runs) writeRunPosition(writer.id(id), position);
    },
    read(reader, seq) {
      const runs = new Map<string, RunPosition>();
      for (let remaining = reader.number(); remaining > 0; remaining -= 1) runs.set(reader.id(), readRunPosition(reader));
      return { stream: 'runs', seq, runs };
    },
  },
  inbox: {
    code: 2,
    write(writer, { scope, pending }) {
      writer.text(scope).number(pending.size);
      for (const [id, { runId, title, remindedAt }] of pending) writeOptional(writer.id(id).id(runId).text(title), remindedAt);
    },
    read(reader, seq) {
      const scope = reader.text();
      const pending = new Map<string, KnownRequest>();
      for (let remaining = reader.number(); remaining > 0; remaining -= 1)
        pending.set(reader.id(), { runId: reader.id(), title: reader.text(), remindedAt: readOptional(reader) });
      return { stream: 'inbox', seq, scope, pending };
    },
  },
  builder_run: {
    code: 3,
    write(writer, { buildId, builderRunId, status, phase, questionId, isReported }) {
      writer.id(buildId).id(builderRunId);
      for (const value of [status, phase, questionId]) writeOptional(writer, value);
      writeFlag(writer, isReported);
    },
    read(reader, seq) {
      return {
        stream: 'builder_run',
        seq,
        buildId: reader.id(),
        builderRunId: reader.id(),
        status: readOptional(reader) ?? null,
        phase: readOptional(reader) ?? null,
        questionId: readOptional(reader),
        isReported: reader.number() === 1,
      };
    },
  },
  artifact: {
    code: 4,
    write(writer, { artifactId, status, lastMessageId, questionId, isReported }) {
      writer.id(artifactId);
      for (const value of [status, lastMessageId, questionId]) writeOptional(writer, value);
      writeFlag(writer, isReported);
    },
    read(reader, seq) {
      return {
        stream: 'artifact',
        seq,
        artifactId: reader.id(),
        status: readOptional(reader) ?? null,
        lastMessageId: readOptional(reader),
        questionId: readOptional(reader),
        isReported: reader.number() === 1,
      };
    },
  },
  deliveries: {
    code: 6,
    write(writer, { webhookId, taken }) {
      writer.id(webhookId).number(taken.length);
      for (const { id, createdAt } of taken) writer.id(id).number(Math.max(0, createdAt));
    },
    read(reader, seq) {
      const [webhookId, taken] = [reader.id(), [] as TakenDelivery[]];
      for (let remaining = reader.number(); remaining > 0; remaining -= 1) taken.push({ id: reader.id(), createdAt: reader.number() });
      return { stream: 'deliveries', seq, webhookId, taken };
    },
  },
  received: {
    code: 7,
    write: (writer, { journalId }) => void writer.id(journalId),
    read: (reader, seq) => ({ stream: 'received', seq, journalId: reader.id() }),
  },
  stored: {
    code: 5,
    write: (writer, { journalId }) => void writer.id(journalId),
    read: (reader, seq) => ({ stream: 'stored', seq, journalId: reader.id() }),
  },
};
