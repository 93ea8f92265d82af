"""Types of columns: which texts of a CSV field are a value of the type, and which DuckDB type holds it.

DuckDB's own casts round `1.5` to 2, cut digits, take `2142-08-03` for midnight and drop time zones. So a text
must match the type's pattern before it is cast. The same rules stand here twice, as an SQL expression (for
all rows) and in Python (to find the first bad row, and as its independent check).

Leaves to others: reading files (`conversion`), and saying where a bad row is (`bad_rows`).
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext

_DECIMAL = re.compile(r"decimal\(([1-9][0-9]?),([0-9]{1,2})\)")
_WHOLE = "-?[0-9]{1,19}"
_NUMBER = r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?"
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2} ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}( 00:00:00)?"
_TIMES = {"timestamp": _TIME, "date": _DATE}
_BITS = {"integer": 32, "bigint": 64}
_MEANING = {
    "integer": "a whole number of at most 32 bits",
    "bigint": "a whole number of at most 64 bits",
    "timestamp": "a time written YYYY-MM-DD HH:MM:SS",
    "date": "a date written YYYY-MM-DD",
}
# What SQL raises where a text is no value of its column's type; never shown to people.
BAD_VALUE = "medomni-bad-value"
MISSING_VALUE = "medomni-missing-value"


@dataclass(frozen=True, slots=True)
class ColumnType:
    """`text`, `integer`, `bigint`, `timestamp`, `date` or `decimal(<digits>,<decimals>)`.

    Attributes:
        text: The type as `tables.yaml` writes it.
        rounds: For decimals: a longer text is rounded, half away from zero. Without it such a text is
            refused, unless its last digits are only how a binary fraction was printed (0.59999999999999998).
    """

    text: str
    rounds: bool = False

    @property
    def duckdb(self) -> str:
        """The DuckDB type of the stored column."""
        return "VARCHAR" if self.text == "text" else self.text.upper()

    @property
    def scale(self) -> int:
        """Digits behind the point; 0 for what is no decimal."""
        found = _DECIMAL.fullmatch(self.text)
        return int(found[2]) if found else 0

    @property
    def meaning(self) -> str:
        """What a text must be, for people."""
        if self.text.startswith("decimal"):
            extra = ", longer ones are rounded" if self.rounds else ""
            return f"a number with at most {self.scale} decimals that fits {self.text}{extra}"
        return _MEANING.get(self.text, "text")

    def sql(self, field: str, *, required: bool = False) -> str:
        """An expression of the typed value of the quoted VARCHAR column `field`; it raises for a bad one."""
        missing = f"error('{MISSING_VALUE}')" if required else "NULL"
        whens = [f"WHEN {field} IS NULL THEN {missing}"]
        if self.text == "text":
            return f"CASE {whens[0]} ELSE {field} END" if required else field
        cast = f"CAST({field} AS {self.duckdb})"
        if not self.text.startswith("decimal"):
            pattern = _TIMES.get(self.text, _WHOLE)
            whens.append(f"WHEN regexp_full_match({field}, '{pattern}') THEN {cast}")
        else:
            whens.append(f"WHEN regexp_full_match({field}, '{self._exact}') THEN {cast}")
            longer = f"regexp_full_match({field}, '{_NUMBER}')"
            if not self.rounds:
                longer += f" AND CAST({field} AS DOUBLE) = CAST({cast} AS DOUBLE)"
            whens.append(f"WHEN {longer} THEN {cast}")
        return f"CASE {' '.join(whens)} ELSE error('{BAD_VALUE}') END"

    def accepts(self, text: str) -> bool:
        """Whether the text of a field, not empty, is a value of this type."""
        if self.text in _BITS:
            limit = 1 << (_BITS[self.text] - 1)
            return bool(re.fullmatch(_WHOLE, text)) and -limit <= int(text) < limit
        if self.text in _TIMES:
            return bool(re.fullmatch(_TIMES[self.text], text)) and _exists(text[:10])
        return self.text == "text" or self._accepts_number(text)

    @property
    def _exact(self) -> str:
        return rf"[-+]?[0-9]+(\.[0-9]{{1,{self.scale}}})?" if self.scale else "[-+]?[0-9]+"

    def _accepts_number(self, text: str) -> bool:
        if not re.fullmatch(_NUMBER, text):
            return False
        found = _DECIMAL.fullmatch(self.text)
        digits = int(found[1]) if found else 0
        with localcontext(prec=200):
            rounded = round_half_up(text, self.scale)
            if rounded is None or abs(rounded) >= Decimal(10) ** (digits - self.scale):
                return False
        exact = re.fullmatch(self._exact, text) is not None
        return exact or self.rounds or float(text) == float(rounded)


def round_half_up(text: str, scale: int) -> Decimal | None:
    """A number rounded to `scale` decimals, halves away from zero; None for what is too large to be one."""
    try:
        return Decimal(text).quantize(Decimal(1).scaleb(-scale), rounding="ROUND_HALF_UP")
    except InvalidOperation:
        return None


def parse_type(text: str, *, rounds: bool = False) -> ColumnType | None:
    """The type that `tables.yaml` writes so; None if there is none."""
    found = _DECIMAL.fullmatch(text)
    if found:
        good = int(found[2]) <= int(found[1]) <= 38
        return ColumnType(text, rounds) if good else None
    return ColumnType(text) if text in ("text", *_MEANING) and not rounds else None


def _exists(day: str) -> bool:
    try:
        datetime.date.fromisoformat(day)
    except ValueError:
        return False
    return True
