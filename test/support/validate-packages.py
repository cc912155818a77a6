"""Validates data packages, whose paths come on stdin, one a line; prints a list of their errors as JSON.

The standard's rowCount is not looked at by this validator, so it is held against the rows that it counted.
"""
import json
import sys

import frictionless

reports = []
for line in sys.stdin:
    path = line.rstrip("\n")
    report = frictionless.validate(path, type="package")
    errors = [{"type": error.type, "message": error.message} for error in report.errors]
    counted = {}
    for task in report.tasks:
        # It counts none for a table that is a header alone.
        counted[task.name] = task.stats.get("rows") or 0
        errors += [{"type": error.type, "message": error.message} for error in task.errors]
    with open(path, encoding="utf-8") as file:
        resources = json.load(file)["resources"]
    for resource in resources:
        rows = counted.get(resource["name"])
        if rows != resource["rowCount"]:
            message = f"{resource['name']} has {rows} rows and not {resource['rowCount']}"
            errors.append({"type": "row-count", "message": message})
    reports.append({"path": path, "resources": len(report.tasks), "errors": errors})
json.dump(reports, sys.stdout)
