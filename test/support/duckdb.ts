import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { ReadTree } from './snapshot.js';

/** A DuckDB in memory: a reader that has nothing of ours. */
export class Duck {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(): Promise<Duck> {
    const instance = await DuckDBInstance.create(':memory:');
    return new Duck(instance, await instance.connect());
  }

  /** Runs a whole script, as pasted. */
  async run(script: string): Promise<void> {
    await this.#connection.run(script);
  }

  async select(sql: string): Promise<unknown[][]> {
    return (await this.#connection.runAndReadAll(sql)).getRows();
  }

  /** All rows of a view of texts, by the header's names: columns are taken by their place, whatever the view calls them. */
  async rows(view: string, header: readonly string[]): Promise<ReadTree['rows']> {
    const columns = await this.select(`SELECT column_name FROM (DESCRIBE "${view}")`);
    if (columns.length !== header.length)
      throw new Error(`${view} has ${columns.length} columns and not ${header.length}`);
    // The mark in front keeps the client's decoder from taking a value's first character for a byte order mark.
    const cells = columns.map(([name]) => `'>' || "${String(name).replaceAll('"', '""')}"`);
    const found = await this.select(`SELECT ${cells.join(', ')} FROM "${view}"`);
    return found.map((values) => {
      const row: Record<string, string | null> = Object.create(null);
      for (const [at, name] of header.entries()) row[name] = (values[at] as string | null)?.slice(1) ?? null;
      return row;
    });
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}
