"""The same rows with dlt: a list of the service, as gzipped CSV on S3. Its argument is a job as JSON (peers.mjs)."""

import json
import os
import resource
import sys
import tempfile
import time

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["RUNTIME__LOG_LEVEL"] = "ERROR"

import dlt
from dlt.destinations import filesystem
from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.auth import BearerTokenAuth
from dlt.sources.helpers.rest_client.paginators import JSONResponseCursorPaginator

job = json.loads(sys.argv[1])


def pages(limit_rows, read):
    """Yields pages, and appends the number of rows of each to `read`."""
    client = RESTClient(
        base_url=f"{job['url']}/api/public/v2/",
        auth=BearerTokenAuth(os.environ["BENCH_KEY"]),
        paginator=JSONResponseCursorPaginator(cursor_path="page.nextCursor", cursor_param="cursor"),
    )
    for page in client.paginate(job["resource"], params={"limit": job["pageSize"]}, data_selector="data"):
        yield page
        read.append(len(page))
        if limit_rows and sum(read) >= limit_rows:
            return


def run(name, limit_rows=0):
    """Returns the number of rows. Fails if they are not all loaded."""
    read = []
    pipeline = dlt.pipeline(
        pipeline_name=name,
        pipelines_dir=tempfile.mkdtemp(dir=job["folder"]),
        dataset_name=name,
        destination=filesystem(
            bucket_url="s3://lake/dlt",
            credentials={
                "aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"],
                "aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
                "endpoint_url": job["endpoint"],
                "region_name": job["region"],
            },
        ),
    )
    # Lists stay one column, as in the CSV of the others.
    rows = dlt.resource(lambda: pages(limit_rows, read), name="rows", max_table_nesting=0)
    pipeline.run(rows, loader_file_format="csv").raise_on_failed_jobs()
    return sum(read)


def cpu():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if job["warmUp"]:
    run(f"{job['name']}_warm", job["warmUp"])
before, started = cpu(), time.monotonic()
rows = run(job["name"])
print(
    json.dumps(
        {
            "seconds": time.monotonic() - started,
            "cpu": cpu() - before,
            "rows": rows,
            "peakMiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    )
)
