"""Writes workbooks for the tests, as the programs write them that use these libraries."""
import datetime as dt
import sys

folder = sys.argv[1]


def with_openpyxl():
    import openpyxl
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont
    from openpyxl.utils.datetime import CALENDAR_MAC_1904

    header = ["description", "hours", "startedAt", "day", "billable", "rate"]
    for name, epoch in (("1900", None), ("1904", CALENDAR_MAC_1904)):
        book = openpyxl.Workbook()
        if epoch is not None:
            book.epoch = epoch
        sheet = book.active
        sheet.append(header)
        rich = CellRichText("Kick", TextBlock(InlineFont(b=True), "-off "), "äöü\nline 2")
        sheet.append([rich, 7.5, dt.datetime(2026, 11, 2, 8, 30), dt.date(2026, 11, 2), True, 0.155])
        sheet["F2"].number_format = "0.0%"
        sheet.append([])
        sheet.append(['Quote " and, comma', dt.timedelta(hours=30, minutes=15), dt.datetime(2026, 7, 2, 0, 0), dt.date(2026, 7, 2), False, 12])
        sheet["B4"].number_format = "[h]:mm"
        book.save(f"{folder}/{name}.xlsx")

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Zeiten"
    sheet.append(["Beschreibung", "Dauer", "ref"])
    sheet.append(["a", "=1+2", 1])
    sheet.append(["b", 1, "#N/A"])
    sheet["C3"].data_type = "e"
    sheet.append(["c", 2, 1234567890123456789])
    sheet.append(["d", 0.1 + 0.2, 5])
    sheet.append(["e", 4, 6])
    sheet.append([None, 5, 7])
    sheet.merge_cells("A6:A7")
    other = book.create_sheet("Summe")
    other.append(["x"])
    book.create_sheet("leer")
    book.save(f"{folder}/errors.xlsx")


def with_xlsxwriter():
    import xlsxwriter

    book = xlsxwriter.Workbook(f"{folder}/formulas.xlsx", {"default_date_format": "dd.mm.yyyy hh:mm"})
    sheet = book.add_worksheet()
    bold = book.add_format({"bold": True})
    sheet.write_row(0, 0, ["description", "hours", "startedAt", "billable"])
    sheet.write_rich_string(1, 0, "Rich ", bold, "text")
    sheet.write_formula(1, 1, "=3/2", None, 1.5)
    sheet.write_datetime(1, 2, dt.datetime(2026, 3, 29, 1, 59))
    sheet.write_formula(1, 3, "=TRUE()", None, True)
    sheet.write_row(2, 0, ["shared", 1.1])
    sheet.write_row(4, 0, ["shared", 2])
    hidden = book.add_worksheet("hidden")
    hidden.write(0, 0, "x")
    hidden.hide()
    book.close()


with_openpyxl()
with_xlsxwriter()
