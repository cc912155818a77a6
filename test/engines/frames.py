"""Runs the code that a page shows for Arrow, pandas and polars, and prints each cell as text.

Argument: the code. In the working directory are `lake.sql`, and `tasks.parquet` as `worktrack query` writes it.
Output: {way: {column: [text or null]}} in JSON.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cell_text import text  # noqa: E402

names = {}
exec(sys.argv[1], names)

import pandas  # noqa: E402
import polars  # noqa: E402


def plain(cell):
    if cell is pandas.NA or cell is pandas.NaT:
        return None
    return cell.to_pydatetime() if hasattr(cell, "to_pydatetime") else cell


def of_pandas(frame):
    return {name: [plain(cell) for cell in frame[name].array] for name in frame.columns}


ways = {
    "Arrow": names["arrow"].to_pydict(),
    "pandas": of_pandas(names["frame"]),
    "polars": names["table"].to_dict(as_series=False),
    "pandas, Parquet": of_pandas(pandas.read_parquet("tasks.parquet", dtype_backend="pyarrow")),
    "polars, Parquet": polars.read_parquet("tasks.parquet").to_dict(as_series=False),
    "df": of_pandas(names["lake"].sql("SELECT * FROM tasks").df()),
}
print(json.dumps({way: {name: [text(cell) for cell in cells] for name, cells in columns.items()} for way, columns in ways.items()}))
