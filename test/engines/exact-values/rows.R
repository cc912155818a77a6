# The rows on R in docs/reference/exact-values.md: Rscript rows.R, with data.table and readr (r-cran-… in Debian).
file <- tempfile(fileext = ".csv")
writeLines(c("text,number", "\"say \"\"hi\"\"\",9007199254740993.01", "\"  two  \",1"), file)
wrong <- 0
row <- function(package, found, expected) {
  same <- identical(found, expected)
  if (!same) wrong <<- wrong + 1
  cat(package, as.character(packageVersion(package)), deparse(found), if (same) "" else paste("expected", deparse(expected)), "\n")
}
table <- data.table::fread(file)
row("data.table", table$text[1], "say \"\"hi\"\"")
frame <- readr::read_csv(file, show_col_types = FALSE)
row("readr", list(frame$text[2], sprintf("%.2f", frame$number[1])), list("two", "9007199254740994.00"))
quit(status = as.integer(wrong > 0))
