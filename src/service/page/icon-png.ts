/** The icon as PNG, drawn when it is first requested: home screens and notifications do not accept SVG. The shapes are those of icon.svg. */
import { Buffer } from 'node:buffer';
import { crc32, deflateSync } from 'node:zlib';

type Colour = readonly [red: number, green: number, blue: number];
type Point = readonly [x: number, y: number];

/** The width and height of the drawing, in its own units. */
const side = 32;
const green: Colour = [47, 93, 80];
const cream: Colour = [245, 242, 234];
const amber: Colour = [233, 184, 114];
const corner = 8;
const line: readonly Point[] = [
  [8, 21.5],
  [16, 9],
  [24, 21.5],
];
const lineWidth = 3;
const dot = { centre: [16, 21.5] as Point, radius: 2.2 };

/** @param size pixels @param isFull whether the background fills the square, for systems that cut icons to their own shape */
export function iconPng(size: number, isFull: boolean): Buffer {
  const scale = side / size;
  const rows = Array.from({ length: size }, (_, row) => {
    const bytes = Buffer.alloc(1 + size * 4);
    for (let column = 0; column < size; column++)
      bytes.set(pixel([(column + 0.5) * scale, (row + 0.5) * scale], scale, isFull), 1 + column * 4);
    return bytes;
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  // 8 bits, RGBA.
  header.set([8, 6, 0, 0, 0], 8);
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(Buffer.concat(rows))), chunk('IEND', Buffer.alloc(0))]);
}

/** Red, green, blue, and opacity. Shapes are smooth over one pixel at their edge. */
function pixel(point: Point, scale: number, isFull: boolean): [number, number, number, number] {
  const coverage = (distance: number): number => Math.min(1, Math.max(0, 0.5 - distance / scale));
  const lineDistance = Math.min(...line.slice(1).map((end, index) => distanceToSegment(point, line[index] as Point, end))) - lineWidth / 2;
  const dotDistance = Math.hypot(point[0] - dot.centre[0], point[1] - dot.centre[1]) - dot.radius;
  const colour = mix(mix(green, cream, coverage(lineDistance)), amber, coverage(dotDistance));
  return [...colour, Math.round(255 * (isFull ? 1 : coverage(distanceToTile(point))))];
}

const mix = (below: Colour, above: Colour, share: number): Colour =>
  [0, 1, 2].map((index) => Math.round((below[index] as number) * (1 - share) + (above[index] as number) * share)) as unknown as Colour;

function distanceToSegment([x, y]: Point, [fromX, fromY]: Point, [toX, toY]: Point): number {
  const [dx, dy] = [toX - fromX, toY - fromY];
  const share = Math.min(1, Math.max(0, ((x - fromX) * dx + (y - fromY) * dy) / (dx * dx + dy * dy)));
  return Math.hypot(x - fromX - share * dx, y - fromY - share * dy);
}

/** The distance to the square with rounded corners; negative inside. */
function distanceToTile([x, y]: Point): number {
  const [dx, dy] = [x, y].map((value) => Math.abs(value - side / 2) - (side / 2 - corner)) as [number, number];
  return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - corner;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
