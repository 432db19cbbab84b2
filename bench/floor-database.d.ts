export class FloorDatabase {
  static open(file: string): Promise<FloorDatabase>;
  first(sql: string): (...values: unknown[]) => Record<string, unknown>;
  close(): Promise<void>;
}
