"""Runs SQL statements in one query engine, and prints cells as text.

Argument: the engine. Standard input has one job in JSON per line, and standard output gets one line "RESULT <JSON>" per
job: {"reads": [{"rows": [[text or null]]} or {"error"}]} or {"error"}. A job is {"mode": "csv" or "delta", "statements":
[sql], "reads": [{"from": sql, "columns": [quoted name]} or {"table": URL, "columns": [name]}]}. The environment variable
ENGINE_OPTIONS has access to S3 (endpoint, region, keyId, secret), a folder for files, and what an engine needs.
"""

import glob
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cell_text import text  # noqa: E402

OPTIONS = json.loads(os.environ["ENGINE_OPTIONS"])
S3 = OPTIONS["s3"]
STORAGE = {
    "AWS_ENDPOINT_URL": S3["endpoint"],
    "AWS_REGION": S3["region"],
    "AWS_ACCESS_KEY_ID": S3["keyId"],
    "AWS_SECRET_ACCESS_KEY": S3["secret"],
    "AWS_ALLOW_HTTP": "true",
}


def storage_of(url):
    return STORAGE if url.startswith("s3:") else None


def select(read, to_text):
    return f"SELECT {', '.join(to_text(column) for column in read['columns'])} FROM {read['from']}"


def cast(type_name):
    return lambda column: f"CAST({column} AS {type_name})"


def duckdb_engine():
    import duckdb

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    host = S3["endpoint"].split("://")[1]
    extensions = {}
    for path in glob.glob(os.environ["PYTHONPATH"] + "/duckdb_extension_*/extensions/*/*.duckdb_extension"):
        extensions[os.path.basename(path).split(".")[0]] = path
    for name in ("httpfs", "delta"):
        if name in extensions:
            connection.execute(f"LOAD '{extensions[name]}'")
    if "httpfs" in extensions:
        connection.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{S3['keyId']}', SECRET '{S3['secret']}', REGION '{S3['region']}', "
            f"ENDPOINT '{host}', URL_STYLE 'path', USE_SSL false)"
        )
    else:
        # No wheel has httpfs for this version. s3fs tells DuckDB the second of a change and no ETag, and these lakes
        # change twice a second.
        connection.execute("SET enable_external_file_cache = false")
        import fsspec

        client = {"endpoint_url": S3["endpoint"], "region_name": S3["region"]}
        connection.register_filesystem(
            fsspec.filesystem("s3", key=S3["keyId"], secret=S3["secret"], client_kwargs=client, use_listings_cache=False)
        )

    def run(job, sql):
        connection.execute(sql)

    def read(job, one):
        if "table" in one:
            from deltalake import DeltaTable

            table = DeltaTable(one["table"], storage_options=storage_of(one["table"]))
            connection.register("worktrack_table", table.to_pyarrow_dataset())
            quoted = ['"' + name.replace('"', '""') + '"' for name in one["columns"]]
            one = {"from": "worktrack_table", "columns": quoted}
        return connection.execute(select(one, cast("VARCHAR"))).fetchall()

    return run, read


def clickhouse_engine():
    from chdb import session

    # Tables must be below the working directory.
    os.chdir("/")
    chdb = session.Session(OPTIONS["folder"] + "/data")

    def run(job, sql):
        chdb.query(sql)

    def read(job, one):
        rows = chdb.query(select(one, cast("Nullable(String)")), "JSONCompactEachRow").bytes()
        return [json.loads(line) for line in rows.decode("utf-8", "surrogateescape").split("\n") if line]

    return run, read


def jars_that_spark_lacks(spark):
    """Jars in the class path replace those of Spark, which then fails, such as with an older version of Jackson."""

    def artifact(jar):
        return re.sub(r"-\d[^/]*\.jar$", "", os.path.basename(jar))

    own = {artifact(jar) for jar in glob.glob(spark + "/jars/*.jar")}
    return [jar for jar in sorted(glob.glob(OPTIONS["jars"] + "/*.jar")) if artifact(jar) not in own]


def spark_engine():
    import pyspark
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": OPTIONS["folder"] + "/warehouse",
        "spark.hadoop.fs.s3a.endpoint": S3["endpoint"],
        "spark.hadoop.fs.s3a.endpoint.region": S3["region"],
        "spark.hadoop.fs.s3a.access.key": S3["keyId"],
        "spark.hadoop.fs.s3a.secret.key": S3["secret"],
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    }
    jars = jars_that_spark_lacks(pyspark.__path__[0])
    settings["spark.driver.extraClassPath"] = ":".join(jars)
    if any("delta-spark" in jar for jar in jars):
        settings["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
        settings["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def run(job, sql):
        spark.sql(sql)

    def read(job, one):
        return [list(row) for row in spark.sql(select(one, cast("STRING"))).collect()]

    return run, read


# A busy server announces itself late. Until then, it takes no query of a catalog.
NO_NODES = "NO_NODES_AVAILABLE"
NO_NODES_FOR_S = 120


def trino_engine():
    import time
    import urllib.request

    def query(job, sql):
        until = time.monotonic() + NO_NODES_FOR_S
        while True:
            try:
                return ask(job, sql)
            except RuntimeError as error:
                if error.args[0] != NO_NODES or time.monotonic() > until:
                    raise
                time.sleep(1)

    def ask(job, sql):
        headers = {"X-Trino-User": "test", "X-Trino-Catalog": job["mode"], "X-Trino-Schema": "worktrack"}
        request = urllib.request.Request(OPTIONS["trino"] + "/v1/statement", data=sql.encode(), headers=headers)
        rows = []
        while True:
            with urllib.request.urlopen(request) as response:
                answer = json.load(response)
            rows += answer.get("data") or []
            if "error" in answer:
                code = answer["error"]["errorName"]
                raise RuntimeError(NO_NODES if code == NO_NODES else answer["error"]["message"])
            if "nextUri" not in answer:
                return rows
            request = answer["nextUri"]

    for catalog in ("csv", "delta"):
        query({"mode": catalog}, "CREATE SCHEMA IF NOT EXISTS worktrack")
    return query, lambda job, one: query(job, select(one, cast("varchar")))


def frames_engine(load):
    def read(job, one):
        columns = load(one["table"], storage_of(one["table"]), one["columns"])
        return [[text(cell) for cell in row] for row in zip(*columns)]

    return (lambda job, sql: None), read


def delta_rs(url, storage, names):
    from deltalake import DeltaTable

    table = DeltaTable(url, storage_options=storage).to_pyarrow_table()
    return [table.column(name).to_pylist() for name in names]


def polars(url, storage, names):
    import polars

    frame = polars.read_delta(url, storage_options=storage)
    return [frame.get_column(name).to_list() for name in names]


def pandas(url, storage, names):
    import pandas
    from deltalake import DeltaTable

    frame = DeltaTable(url, storage_options=storage).to_pandas(types_mapper=pandas.ArrowDtype)
    columns = [frame[name].array for name in names]
    return [[None if cell is pandas.NA else plain(cell) for cell in column] for column in columns]


def plain(value):
    """A time of pandas as a time of Python; both have microseconds here."""
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value


ENGINES = {
    "duckdb": duckdb_engine,
    "clickhouse": clickhouse_engine,
    "spark": spark_engine,
    "trino": trino_engine,
    "deltalake": lambda: frames_engine(delta_rs),
    "polars": lambda: frames_engine(polars),
    "pandas": lambda: frames_engine(pandas),
}


def results_of(job, run, read):
    for sql in job["statements"]:
        try:
            run(job, sql)
        except Exception as error:
            return {"error": f"{error}\nin {sql}"[:3000]}
    reads = []
    for one in job["reads"]:
        try:
            reads.append({"rows": [list(row) for row in read(job, one)]})
        except Exception as error:
            reads.append({"error": f"{type(error).__name__}: {error}"[:3000]})
    return {"reads": reads}


def main():
    run, read = ENGINES[sys.argv[1]]()
    for line in sys.stdin:
        print("RESULT " + json.dumps(results_of(json.loads(line), run, read)), flush=True)
    # Threads of some libraries abort the interpreter while it shuts down.
    sys.stdout.flush()
    os._exit(0)


main()
