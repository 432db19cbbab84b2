/** A range of bytes, including both ends. */
export interface ByteRange {
  start: number;
  end: number;
}
