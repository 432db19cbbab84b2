/** Metrics in the Prometheus text format 0.0.4: `name{label="value"} 12`. */

/** Upper bounds of histogram buckets in seconds, the base unit of Prometheus. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [labels: Labels, value: number];

/** A number that only grows, by its labels. */
export class Counter {
  readonly #samples = new Map<string, { labels: Labels; value: number }>();

  add(labels: Labels, amount = 1): void {
    const key = Object.values(labels).join(' ');
    const sample = this.#samples.get(key);
    if (sample === undefined) this.#samples.set(key, { labels, value: amount });
    else sample.value += amount;
  }

  samples(): Sample[] {
    return [...this.#samples.values()].map(({ labels, value }) => [labels, value]);
  }
}

/** Durations, by one label. */
export class Histogram {
  readonly #label: string;
  readonly #series = new Map<string, { counts: number[]; sum: number; count: number }>();

  constructor(label: string) {
    this.#label = label;
  }

  observe(value: string, seconds: number): void {
    let series = this.#series.get(value);
    if (series === undefined) {
      series = { counts: buckets.map(() => 0), sum: 0, count: 0 };
      this.#series.set(value, series);
    }
    const bucket = buckets.findIndex((limit) => seconds <= limit);
    if (bucket >= 0) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += seconds;
    series.count += 1;
  }

  text(name: string, help: string): string {
    const lines = [...this.#series].flatMap(([value, { counts, sum, count }]) => {
      const labels = { [this.#label]: value };
      let cumulative = 0;
      const steps = counts.map((bucketCount, index) => {
        cumulative += bucketCount;
        return line(`${name}_bucket`, { ...labels, le: String(buckets[index]) }, cumulative);
      });
      const totals = [line(`${name}_bucket`, { ...labels, le: '+Inf' }, count), line(`${name}_sum`, labels, sum)];
      return [...steps, ...totals, line(`${name}_count`, labels, count)];
    });
    return lines.length === 0 ? '' : `${head(name, help, 'histogram')}${lines.join('')}`;
  }
}

/** A metric with its help text; empty if there are no samples. */
export const metric = (name: string, help: string, type: 'counter' | 'gauge', samples: readonly Sample[]): string =>
  samples.length === 0 ? '' : `${head(name, help, type)}${samples.map(([labels, value]) => line(name, labels, value)).join('')}`;

const head = (name: string, help: string, type: string): string => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

const escapeLabel = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
