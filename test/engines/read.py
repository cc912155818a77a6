"""Runs SQL statements in one query engine and prints the cells of some views as text, one JSON object per view.

Input: {"engine", "statements": [sql], "views": [{"name", "columns"}]}. A column is an already quoted name.
"""

import json
import sys


def duckdb_engine():
    import duckdb

    connection = duckdb.connect()
    return lambda sql: connection.execute(sql).fetchall() if sql.startswith("SELECT") else connection.execute(sql)


def clickhouse_engine():
    import tempfile

    from chdb import session

    chdb = session.Session(tempfile.mkdtemp())

    def run(sql):
        if not sql.startswith("SELECT"):
            return chdb.query(sql)
        text = chdb.query(sql, "JSONCompactEachRow").bytes().decode("utf-8", "surrogateescape")
        return [json.loads(line) for line in text.split("\n") if line]

    return run


def spark_engine():
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return lambda sql: [list(row) for row in spark.sql(sql).collect()]


ENGINES = {"duckdb": duckdb_engine, "clickhouse": clickhouse_engine, "spark": spark_engine}
TEXT = {"duckdb": "VARCHAR", "clickhouse": "Nullable(String)", "spark": "STRING"}


def main():
    job = json.load(sys.stdin)
    run = ENGINES[job["engine"]]()
    for sql in job["statements"]:
        run(sql)
    for view in job["views"]:
        cells = ", ".join(f"CAST({column} AS {TEXT[job['engine']]})" for column in view["columns"])
        print(json.dumps({"view": view["name"], "rows": [list(row) for row in run(f"SELECT {cells} FROM {view['name']}")]}))


main()
