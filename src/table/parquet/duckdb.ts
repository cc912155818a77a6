import type { DuckDbBindings } from '../../core/duckdb-library.js';

/** A connection to DuckDB. */
export interface Connection {
  /** Runs statements. @returns the number of rows that the last one wrote */
  run(sql: string): Promise<number>;
  /** The rows of a query, whose values are text. */
  texts(sql: string): Promise<(string | null)[][]>;
  /** Limits the memory of DuckDB. It frees what it keeps for later when the limit changes, so one that is the same is not set again. */
  limitMemory(bytes: number): Promise<void>;
}

/** Opens DuckDB in memory. All values that are read are text, so the package's classes for values are not needed. */
export async function openDuckDb(
  bindings: DuckDbBindings,
  settings: Readonly<Record<string, string>>,
): Promise<Connection> {
  const config = bindings.create_config();
  for (const [name, value] of Object.entries(settings)) bindings.set_config(config, name, value);
  const connection = await bindings.connect(await bindings.open(':memory:', config));
  const run = async (sql: string): Promise<number> =>
    bindings.rows_changed(await bindings.query(connection, sql));
  let limit: number | null = null;
  return {
    run,
    async limitMemory(bytes) {
      if (bytes !== limit) await run(`SET memory_limit = '${bytes}B'`);
      limit = bytes;
    },
    async texts(sql) {
      const result = await bindings.query(connection, `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (${sql})`);
      const rows: (string | null)[][] = [];
      for (let chunk = await bindings.fetch_chunk(result); ; chunk = await bindings.fetch_chunk(result)) {
        const count = chunk === null ? 0 : bindings.data_chunk_get_size(chunk);
        if (chunk === null || count === 0) return rows;
        const columns = Array.from({ length: bindings.data_chunk_get_column_count(chunk) }, (_, at) =>
          textsIn(bindings, bindings.data_chunk_get_vector(chunk!, at), count),
        );
        for (let row = 0; row < count; row++) rows.push(columns.map((column) => column[row]!));
      }
    },
  };
}

/** Bytes of a text in a vector: its length, and then the text, or the first bytes of a long one and where it is. */
const TEXT_BYTES = 16;
const SHORT_BYTES = 12;

/** The values of a vector of texts (https://duckdb.org/docs/stable/clients/c/vector). */
function textsIn(bindings: DuckDbBindings, vector: unknown, count: number): (string | null)[] {
  const data = bindings.vector_get_data(vector, count * TEXT_BYTES);
  const view = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  // A bit per value; none if there is no NULL.
  const isThere = bindings.vector_get_validity(vector, Math.ceil(count / 64) * 8);
  return Array.from({ length: count }, (_, row) => {
    if (isThere && ((isThere[row >> 3]! >> (row & 7)) & 1) === 0) return null;
    const at = row * TEXT_BYTES;
    const length = view.readUInt32LE(at);
    const text =
      length <= SHORT_BYTES
        ? view.subarray(at + 4, at + 4 + length)
        : bindings.get_data_from_pointer(view.buffer, view.byteOffset + at + 8, length);
    return Buffer.from(text).toString('utf8');
  });
}
