"""Compiles the dbt project in the working directory for Athena, and creates its sources, without a connection to AWS.

A stub takes the place of dbt-athena's connection and records the statements that dbt sends. A parser of Athena's two dialects
parses each compiled query and each recorded statement. Prints {"compiled": number, "sent": [statement]}.
"""

import contextlib
import glob
import json
import logging
import sys

import sqlglot
from dbt.adapters.athena.connections import AthenaConnection, AthenaCursor
from dbt.cli.main import dbtRunner
from sqlglot import exp

sent = []


class Cursor:
    state = AthenaCursor.STATE_SUCCEEDED
    rowcount = -1
    data_scanned_in_bytes = 0
    query = query_id = description = None

    def execute(self, sql, *_args, **_kwargs):
        sent.append(sql)
        return self


class Handle:
    def cursor(self, *_args, **_kwargs):
        return Cursor()

    def close(self):
        pass


def run(*args):
    # dbt prints its progress on stdout, which is for the result.
    with contextlib.redirect_stdout(sys.stderr):
        result = dbtRunner().invoke([*args, "--no-use-colors"])
    if not result.success:
        raise SystemExit(f"dbt {args[0]} failed: {result.exception or result.result}")


def parse(sql):
    (statement,) = sqlglot.parse(sql, dialect="athena", error_level=sqlglot.ErrorLevel.RAISE)
    # What the parser does not know becomes a command, which is not checked.
    if isinstance(statement, exp.Command):
        raise SystemExit(f"not parsed: {sql}")


def main():
    logging.disable(logging.WARNING)
    AthenaConnection.connect = lambda self: Handle()
    run("compile", "--no-introspect", "--no-populate-cache")
    run("run-operation", "worktrack_create_sources")
    compiled = glob.glob("target/compiled/**/*.sql", recursive=True)
    for path in compiled:
        with open(path, encoding="utf-8") as file:
            parse(file.read())
    for sql in sent:
        parse(sql)
    print(json.dumps({"compiled": len(compiled), "sent": sent}))


main()
