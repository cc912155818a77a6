"""Cells as text, for the scripts that read tables with Python libraries."""

import datetime
import decimal


def text(value):
    """A value of Python as text, exactly."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return format(value, "f") if isinstance(value, decimal.Decimal) else str(value)
