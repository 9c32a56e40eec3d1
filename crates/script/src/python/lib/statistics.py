"""`statistics`: averages and spreads. Sums are exact, as in CPython."""

import math
from collections import Counter
from decimal import Decimal

from svc import _python

# In CPython, this is a subclass of `ValueError`.
StatisticsError = ValueError


def numbers(data, name, least=1):
    values = list(data)
    if len(values) < least:
        need = "at least one data point" if least == 1 else "at least two data points"
        raise StatisticsError(name + " requires " + need)
    for value in values:
        if isinstance(value, Decimal):
            raise TypeError("the embedded engine's `statistics` takes int and float, not Decimal")
        if not isinstance(value, (int, float)):
            raise TypeError("can't convert type '" + type(value).__name__ + "' to numerator/denominator")
    return values


def exact_sum(values):
    """The sum as a fraction. None if a value is not finite."""
    top, bottom = 0, 1
    for value in values:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        numerator, denominator = _python.as_integer_ratio(value)
        if denominator > bottom:
            top *= denominator // bottom
            bottom = denominator
        top += numerator * (bottom // denominator)
    return top, bottom


def converted(top, bottom, values):
    """The fraction as an int if all values are ints and it is whole, else as a float."""
    if not any([isinstance(value, float) for value in values]) and top % bottom == 0:
        return top // bottom
    return top / bottom


def mean(data):
    values = numbers(data, "mean")
    total = exact_sum(values)
    if total is None:
        return sum(values) / len(values)
    return converted(total[0], total[1] * len(values), values)


def fmean(data, weights=None):
    values = [float(value) for value in data]
    if not values:
        raise StatisticsError("fmean requires at least one data point")
    if weights is None:
        return math.fsum(values) / len(values)
    weights = [float(weight) for weight in weights]
    if len(weights) != len(values):
        raise StatisticsError("data and weights must be the same length")
    total = math.fsum(weights)
    if not total:
        raise StatisticsError("sum of weights must be non-zero")
    return math.fsum([value * weight for value, weight in zip(values, weights)]) / total


def geometric_mean(data):
    values = [float(value) for value in data]
    if not values or min(values) <= 0:
        raise StatisticsError("geometric mean requires a non-empty dataset containing positive numbers")
    return math.exp(fmean([math.log(value) for value in values]))


def ordered(data):
    values = sorted(data)
    if not values:
        raise StatisticsError("no median for empty data")
    return values


def median(data):
    values = ordered(data)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def median_low(data):
    values = ordered(data)
    return values[(len(values) - 1) // 2]


def median_high(data):
    values = ordered(data)
    return values[len(values) // 2]


def mode(data):
    pairs = Counter(iter(data)).most_common(1)
    if not pairs:
        raise StatisticsError("no mode for empty data")
    return pairs[0][0]


def multimode(data):
    counts = Counter(iter(data))
    most = max(counts.values(), default=0)
    return [value for value, count in counts.items() if count == most]


def square_deviations(values, centre):
    """The exact sum of the squared distances from the centre, as a fraction. Without a centre: from the mean."""
    total = exact_sum(values)
    if total is None:
        raise NotImplementedError("the embedded engine's `statistics` takes finite numbers")
    top, bottom = total
    squares = 0
    for value in values:
        numerator, denominator = _python.as_integer_ratio(value)
        squares += (numerator * (bottom // denominator)) ** 2
    count = len(values)
    if centre is None:
        # (count * sum(x^2) - sum(x)^2) / count
        return count * squares - top * top, bottom * bottom * count
    numerator, denominator = _python.as_integer_ratio(centre)
    top_all = squares * denominator * denominator - 2 * top * numerator * denominator * bottom
    top_all += count * (numerator * bottom) ** 2
    return top_all, (bottom * denominator) ** 2


def variance(data, xbar=None):
    values = numbers(data, "variance", 2)
    top, bottom = square_deviations(values, xbar)
    return converted(top, bottom * (len(values) - 1), values)


def pvariance(data, mu=None):
    values = numbers(data, "pvariance")
    top, bottom = square_deviations(values, mu)
    return converted(top, bottom * len(values), values)


def square_root(top, bottom):
    """The square root of a fraction, rounded once."""
    shift = 0
    if top:
        # The integer root gets at least 55 bits: 53 bits of a float, one bit for rounding, and one
        # bit that is set if the root is not exact.
        shift = max(0, 112 - (_python.bit_length(top) - _python.bit_length(bottom)))
        shift += shift % 2
    whole, rest = divmod(top << shift, bottom)
    root = math.isqrt(whole)
    if rest or root * root != whole:
        root |= 1
    return root / (1 << (shift // 2))


def stdev(data, xbar=None):
    values = numbers(data, "stdev", 2)
    top, bottom = square_deviations(values, xbar)
    return square_root(top, bottom * (len(values) - 1))


def pstdev(data, mu=None):
    values = numbers(data, "pstdev")
    top, bottom = square_deviations(values, mu)
    return square_root(top, bottom * len(values))


def quantiles(data, *, n=4, method="exclusive"):
    if n < 1:
        raise StatisticsError("n must be at least 1")
    values = sorted(data)
    if len(values) < 2:
        raise StatisticsError("must have at least two data points")
    if method not in ("inclusive", "exclusive"):
        raise ValueError("Unknown method: " + repr(method))
    cuts = []
    for i in range(1, n):
        if method == "inclusive":
            at, part = divmod(i * (len(values) - 1), n)
            cuts.append((values[at] * (n - part) + values[min(at + 1, len(values) - 1)] * part) / n)
        else:
            at = min(max(i * (len(values) + 1) // n, 1), len(values) - 1)
            part = i * (len(values) + 1) - at * n
            cuts.append((values[at - 1] * (n - part) + values[at] * part) / n)
    return cuts
