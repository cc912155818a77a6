"""The rows on Python in docs/reference/exact-values.md, one function each. Run all, or those that are named:

    pip install pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0 'daft==0.7.*' csvkit chdb==4.4.0
    python3 rows.py [NAME...]

Prints the version and what happened, and ends with 1 if a row is not as the page says. A package that is missing is named.
"""

import decimal
import importlib.metadata
import io
import os
import subprocess
import sys
import tempfile

D = decimal.Decimal
WIDE = "id,text\n36893488147419103233,NA\n2,null\n"


def file_of(text):
    path = os.path.join(tempfile.mkdtemp(), "part.csv")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


def pandas_mean():
    import pandas
    import pyarrow

    column = pandas.Series([D("0.01"), D("0.02"), D("0.02")], dtype=pandas.ArrowDtype(pyarrow.decimal128(18, 2)))
    wide = column.astype(pandas.ArrowDtype(pyarrow.decimal128(38, 6)))
    failed = []
    for name in ("describe", "cumsum"):
        try:
            getattr(column, name)()
        except Exception:
            failed.append(name)
    found = (str(column.mean()), str(wide.mean())[:6], failed)
    return "pandas", found, ("0.02", "0.0166", ["describe", "cumsum"])


def polars_product():
    import polars

    kind = polars.Decimal(18, 2)
    frame = polars.DataFrame({"hours": [D("1.25"), D("1.25")], "rate": [D("1.91"), D("1.92")]}, schema={"hours": kind, "rate": kind})
    product = frame.select((polars.col("hours") * polars.col("rate")).alias("x"))["x"]
    cast = polars.Decimal(38, 4)
    exact = frame.select((polars.col("hours").cast(cast) * polars.col("rate").cast(cast)).alias("x"))["x"]
    return "polars", (product.dtype.scale, D(str(exact.sum())) == D("4.7875")), (2, True)


def daft_quotient():
    import daft
    import pyarrow

    column = pyarrow.array([D("10.00")], type=pyarrow.decimal128(18, 2))
    frame = daft.from_arrow(pyarrow.table({"x": column})).select((daft.col("x") / 3).alias("x"))
    found = str(frame.to_pydict()["x"][0])
    return "daft", found[:6], "0.0000"


def polars_part():
    import polars

    kept = polars.read_csv(io.StringIO("x\n9007199254740993.01\n"), infer_schema=False)["x"][0]
    guessed = polars.read_csv(io.StringIO("x\n9007199254740993.01\n"))["x"][0]
    return "polars", (kept, type(guessed).__name__), ("9007199254740993.01", "float")


def pandas_null_words():
    import pandas

    plain = pandas.read_csv(io.StringIO(WIDE))["text"].isna().tolist()
    kept = pandas.read_csv(io.StringIO(WIDE), dtype=str, keep_default_na=False)["text"].tolist()
    return "pandas", (plain, kept), ([True, True], ["NA", "null"])


def csvkit_null_words():
    shown = subprocess.run([sys.executable, "-m", "csvkit.utilities.csvjson", file_of(WIDE)], capture_output=True, text=True, check=True).stdout
    return "csvkit", shown.count("null"), 2


def pyarrow_wide():
    import pyarrow
    from pyarrow import csv

    guessed = csv.read_csv(io.BytesIO(WIDE.encode())).schema.field("id").type
    options = csv.ConvertOptions(column_types={"id": pyarrow.string()})
    kept = csv.read_csv(io.BytesIO(WIDE.encode()), convert_options=options)["id"][0].as_py()
    return "pyarrow", (str(guessed), kept), ("double", "36893488147419103233")


def daft_wide():
    import daft

    return "daft", str(daft.read_csv(file_of(WIDE)).schema()["id"].dtype), "Float64"


def chdb_wide():
    import chdb

    text = str(chdb.query(f"SELECT toTypeName(id) FROM file('{file_of(WIDE)}', CSVWithNames) LIMIT 1"))
    return "chdb", "Float64" in text, True


ROWS = [pandas_mean, polars_product, daft_quotient, polars_part, pandas_null_words, csvkit_null_words, pyarrow_wide, daft_wide, chdb_wide]
wrong = 0
for row in ROWS:
    if len(sys.argv) > 1 and row.__name__ not in sys.argv[1:]:
        continue
    try:
        package, found, expected = row()
    except ImportError as error:
        print(f"{row.__name__}: not run, {error}")
        continue
    same = found == expected
    wrong += not same
    print(f"{row.__name__}: {package} {importlib.metadata.version(package)}: {found}{'' if same else f', expected {expected}'}")
sys.exit(1 if wrong else 0)
