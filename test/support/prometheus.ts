export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Scrape {
  readonly text: string;
  readonly samples: readonly Sample[];
  /** Of the one sample with that name and these labels among its own; `null` for none. */
  value(wanted: { readonly name: string; readonly labels: Readonly<Record<string, string>> }): number | null;
}

/** Asks for metrics as Prometheus does. */
export async function scrape(address: string): Promise<Scrape> {
  const response = await fetch(`http://${address}/metrics`);
  if (response.status !== 200) throw new Error(`metrics: ${response.status}`);
  const text = await response.text();
  const samples = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(sampleOf);
  return {
    text,
    samples,
    value({ name, labels }) {
      const found = samples.filter(
        (one) =>
          one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value),
      );
      if (found.length > 1) throw new Error(`${name} is there ${found.length} times`);
      return found[0]?.value ?? null;
    },
  };
}

function sampleOf(line: string): Sample {
  const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
  if (match === null) throw new Error(`no sample: ${line}`);
  const labels = [...(match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, value]) => [
    label,
    value,
  ]);
  return { name: match[1]!, labels: Object.fromEntries(labels), value: Number(match[3]) };
}
