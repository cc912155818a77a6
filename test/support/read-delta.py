"""Reads a Delta table with delta-rs and prints it as JSON, every value in an exact text form.

Arguments: the folder of the table and, if wanted, the version.
"""

import json
import os
import sys

from cell_text import text
from deltalake import DeltaTable


def main():
    version = int(sys.argv[2]) if len(sys.argv) > 2 else None
    table = DeltaTable(sys.argv[1], version=version)
    read = table.to_pyarrow_table()
    names = read.column_names
    columns = [[text(value) for value in read.column(at).to_pylist()] for at in range(len(names))]
    fields = json.loads(table.schema().to_json())["fields"]
    json.dump(
        {
            "version": table.version(),
            "types": {field["name"]: field["type"] for field in fields},
            "names": {field["metadata"].get("worktrack.name", field["name"]): field["name"] for field in fields},
            "rows": [dict(zip(names, row)) for row in zip(*columns)],
            "files": sorted(uri.rsplit("/", 1)[-1] for uri in table.file_uris()),
        },
        sys.stdout,
    )


main()
sys.stdout.flush()
# Without this, threads of the library sometimes abort the interpreter while it shuts down.
os._exit(0)
