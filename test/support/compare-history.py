"""Compares a history model in a DuckDB file, as of the start of each run, with the snapshots of these runs.

Each expected cell is text, and is cast to the column's type by DuckDB's own strict cast, which fails for a text that does not
fit. The input is a `HistoryToCompare` of dbt.ts, and the output is a list of its `Comparison`.
"""

import json
import sys
from datetime import datetime

import duckdb


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def cast(text, kind):
    if kind == "TIMESTAMP":
        return f"CAST({text} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'"
    return f"CAST({text} AS {kind})"


def compare(connection, job, run):
    columns = connection.execute(f"DESCRIBE {quoted(job['model'])}").fetchall()
    data = columns[:-4]
    header = run["header"]
    started = datetime.strptime(run["runId"][:16], "%Y%m%dT%H%M%SZ").isoformat()
    live = " AND NOT is_deleted" if job["dropsDeleted"] else ""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE found AS SELECT * FROM {quoted(job['model'])} "
        f"WHERE valid_from <= TIMESTAMP '{started}' AND (valid_to > TIMESTAMP '{started}' OR valid_to IS NULL){live}"
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE expected (" + ", ".join(f"c{at} VARCHAR" for at in range(len(header))) + ")"
    )
    if run["rows"]:
        connection.executemany(f"INSERT INTO expected VALUES ({', '.join('?' * len(header))})", run["rows"])
    different = []
    count = connection.execute("SELECT count(*) FROM found").fetchone()[0]
    if count != len(run["rows"]):
        different.append(f"{count} rows of {len(run['rows'])}")
    on = " AND ".join(
        f"CAST(f.{quoted(data[header.index(key)][0])} AS VARCHAR) IS NOT DISTINCT FROM e.c{header.index(key)}"
        for key in job["key"]
    )
    matched = connection.execute(f"SELECT count(*) FROM found f JOIN expected e ON {on}").fetchone()[0]
    if matched != len(run["rows"]):
        different.append(f"{matched} keys of {len(run['rows'])}")
    for at, (name, kind, *_) in enumerate(data):
        expected = cast(f"e.c{at}", kind) if at < len(header) else "NULL"
        wrong = connection.execute(
            f"SELECT count(*) FROM found f JOIN expected e ON {on} WHERE f.{quoted(name)} IS DISTINCT FROM {expected}"
        ).fetchone()[0]
        if wrong > 0:
            different.append(f"{name}: {wrong} cells")
    return {"runId": run["runId"], "rows": count, "cells": count * len(data), "different": different}


def main():
    jobs = json.load(sys.stdin)
    found = []
    for job in jobs:
        with duckdb.connect(job["database"], read_only=True) as connection:
            found.append([compare(connection, job, run) for run in job["runs"]])
    print(json.dumps(found))


main()
