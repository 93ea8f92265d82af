"""Creatinine of made-up patients: values that stay in a kidney class, and courses that reach an injury stage.

Leaves to others: when blood is drawn. Exact decimals, so that no machine rounds otherwise.

Source: CKD-EPI 2021 without a race term (Inker et al., N Engl J Med 2021;385:1737-1749); KDIGO 2012 for the
stages of acute injury by creatinine alone.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache

# Class and the range of eGFR in which its made-up values lie, away from the class's edges.
_RANGES = {0: (66, 112), 1: (47, 58), 2: (32, 43), 3: (17, 28), 4: (5, 13)}
_DIGITS = 30


@cache
def egfr(tenths: int, age: int, *, female: bool) -> Decimal:
    """Estimated filtration, mL/min/1.73 m2, of a creatinine in tenths of mg/dL at an age in years.

    Source: CKD-EPI 2021.
    """
    with localcontext(prec=_DIGITS):
        ratio = Decimal(tenths) / 10 / (Decimal("0.7") if female else Decimal("0.9"))
        low = Decimal("-0.241") if female else Decimal("-0.302")
        exponent = low if ratio < 1 else Decimal("-1.200")
        scale = Decimal("1.012") if female else Decimal(1)
        return 142 * ratio**exponent * Decimal("0.9938") ** age * scale


def steady_values(kidney_class: int, age: int, *, female: bool) -> list[int]:
    """Creatinine values, tenths of mg/dL, in a class over the years around an age; at most 0.2 apart."""
    low, high = _RANGES[kidney_class]
    fitting = []
    for tenths in range(4, 200):
        # The same value means less filtration some years later, and a higher one always means less.
        if egfr(tenths, age + 4, female=female) <= low:
            break
        if egfr(tenths, age - 2, female=female) < high:
            fitting.append(tenths)
    middle = fitting[len(fitting) // 2]
    return [tenths for tenths in fitting if abs(tenths - middle) <= 1]


def injury_stage(baseline: int, lowest_before: int, value: int) -> int:
    """Stage 0 to 3 of a creatinine by its baseline and the lowest value of the 48 hours before it; tenths.

    Source: KDIGO 2012, section 2.1, without urine output.
    """
    rise = value - lowest_before >= 3
    if value >= 3 * baseline or (value >= 40 and (rise or 2 * value >= 3 * baseline)):
        return 3
    if value >= 2 * baseline:
        return 2
    return 1 if rise or 2 * value >= 3 * baseline else 0


def injured_value(baseline: int, stage: int) -> int:
    """A creatinine in tenths that reaches a stage from a baseline; the next higher stage where none can."""
    for wanted in range(stage, 4):
        fitting = [
            value
            for value in range(baseline, 4 * baseline + 10)
            if injury_stage(baseline, baseline, value) == wanted
        ]
        if fitting:
            return fitting[len(fitting) // 2] if wanted else baseline
    return baseline
