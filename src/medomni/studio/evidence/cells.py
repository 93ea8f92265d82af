"""The text of cells: times from the prediction time, numbers without padding, text without dates and ids.

Hours have three decimals (3.6 s), so that `round(hours * 60)` gives whole minutes exactly. A date in the
text of a note or a result would tell the calendar: it becomes `[date]`. The patient's id becomes `patient`,
unless it is so short that it could be any number.

Leaves to others: which columns are shown (`columns`).
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from medomni.studio.recipe.values import call, cast

_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_YEAR = r"(?:1[89]|2[0-9])\d\d"
_WORD = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_NUMERIC = (
    rf"{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}(?:[T ]\d\d:\d\d(?::\d\d)?)?",
    rf"{_DAY}[-/.]{_DAY}[-/.]{_YEAR}",
    rf"{_MONTH}/{_DAY}/\d\d",
)
_WORDED = (
    rf"{_WORD} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}",
    rf"(?:{_DAY}(?:st|nd|rd|th)? )?{_WORD},? {_YEAR}",
    # A year by itself could be any number: only where a word says what it is.
    rf"(?:since|year|circa) {_YEAR}",
)
# What stands before the digits is kept: the engine has no way of only looking at it.
NUMERIC_DATE: Final = rf"(^|[^0-9])(?:{'|'.join(_NUMERIC)})\b"
WORDED_DATE: Final = rf"(?i)\b(?:{'|'.join(_WORDED)})\b"

# Constant SQL. `concat` takes a missing part for an empty one, so missing values are settled before.
MACROS: Final = (
    """
    CREATE OR REPLACE TEMP MACRO evidence_hours(moment, now) AS CASE
        WHEN moment IS NULL THEN NULL ELSE concat(
        CASE WHEN epoch_us(moment) - epoch_us(now) <= -1800000 THEN '-' ELSE '' END,
        (abs(epoch_us(moment) - epoch_us(now)) + 1800000) // 3600000000,
        '.',
        lpad(CAST((((abs(epoch_us(moment) - epoch_us(now)) + 1800000) // 3600000) % 1000) AS VARCHAR), 3, '0')
    ) END
    """,
    """
    CREATE OR REPLACE TEMP MACRO evidence_days(day, now) AS
        CAST(CAST(day AS DATE) - CAST(now AS DATE) AS VARCHAR)
    """,
    """
    CREATE OR REPLACE TEMP MACRO evidence_decimal(number) AS rtrim(rtrim(CAST(number AS VARCHAR), '0'), '.')
    """,
    """
    CREATE OR REPLACE TEMP MACRO evidence_age(age, year_of_age, now) AS CAST(
        CASE WHEN age >= 90 OR age + year(now) - year_of_age >= 90 THEN 91
             ELSE age + year(now) - year_of_age END AS VARCHAR)
    """,
    # Over a list of cells, since an expression of every column would read the patterns anew.
    f"""
    CREATE OR REPLACE TEMP MACRO evidence_texts(cells, subject) AS list_transform(cells, lambda words:
        regexp_replace(regexp_replace(
            CASE WHEN length(CAST(subject AS VARCHAR)) >= 6 AND contains(words, CAST(subject AS VARCHAR))
                 THEN regexp_replace(words, concat('\\b', subject, '\\b'), 'patient', 'g') ELSE words END,
            '{NUMERIC_DATE}', '\\1[date]', 'g'), '{WORDED_DATE}', '[date]', 'g'))
    """,
    """
    CREATE OR REPLACE TEMP MACRO evidence_changed(before, after) AS CASE WHEN before IS DISTINCT FROM after
        THEN list_transform(list_zip(before, after), lambda two: two[1] IS DISTINCT FROM two[2]) END
    """,
)


def hours(moment: exp.Expr, now: exp.Expr) -> exp.Expr:
    """Hours from the prediction time to a moment, `-12.500`: negative before it."""
    return call("evidence_hours", moment, now)


def days(day: exp.Expr, now: exp.Expr) -> exp.Expr:
    """Whole days from the prediction time's date to a day."""
    return call("evidence_days", day, now)


def decimal(number: exp.Expr) -> exp.Expr:
    """A decimal without the zeros that its column's type pads it with."""
    return call("evidence_decimal", number)


def age(years: exp.Expr, year: exp.Expr, now: exp.Expr) -> exp.Expr:
    """The age in the year of the prediction time; everyone older than 89 is 91, as in the release."""
    return call("evidence_age", years, year, now)


def texts(cells: exp.Expr, subject: exp.Expr) -> exp.Expr:
    """A list of texts without dates and without the patient's id."""
    return call("evidence_texts", cells, subject)


def changed(before: exp.Expr, after: exp.Expr) -> exp.Expr:
    """Which of the texts are not what they were; missing where all are."""
    return call("evidence_changed", before, after)


def plain(cell: exp.Expr) -> exp.Expr:
    """A whole number as text."""
    return cast(cell, "VARCHAR")
