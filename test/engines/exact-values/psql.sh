#!/usr/bin/env bash
# The row on psql in docs/reference/exact-values.md: a part with a line `\.` in a text, loaded in both ways into a
# server of its own, which listens on a socket only. Needs PostgreSQL (BIN is the folder of initdb); as root, also the user postgres.
set -euo pipefail
cd /
BIN=${BIN:-$(ls -d /usr/lib/postgresql/*/bin | tail -1)}
folder=$(mktemp -d)
as() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
if [ "$(id -u)" = 0 ]; then chown postgres "$folder"; fi
trap 'as "$BIN/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null; rm -rf "$folder"' EXIT
as "$BIN/initdb" -D "$folder/data" -A trust >/dev/null
as "$BIN/pg_ctl" -D "$folder/data" -w -o "-h '' -k $folder" -l "$folder/log" start >/dev/null
run() { as "$BIN/psql" -h "$folder" -d postgres -qtA "$@"; }
printf 'id,text\n1,"a\n\\.\nb"\n2,c\n' > "$folder/part.csv"
chmod a+r "$folder/part.csv"
run -c 'CREATE TABLE client (id int, text text)' -c 'CREATE TABLE server (id int, text text)'
run -c "\\copy client FROM '$folder/part.csv' CSV HEADER" 2>"$folder/error" || true
run -c "COPY server FROM '$folder/part.csv' CSV HEADER"
found="$("$BIN/psql" --version): \\copy $(run -c 'SELECT count(*) FROM client') rows, COPY $(run -c 'SELECT count(*) FROM server') rows"
echo "$found; $(tail -2 "$folder/error" | head -1)"
case "$found" in *'\copy 0 rows, COPY 2 rows') ;; *) echo 'not as the page says'; exit 1 ;; esac
