"""Sizes and durations as people write them."""

from __future__ import annotations

import re

from windrow.errors import ConfigError

_SIZES = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    _SIZES |= {f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
for _word, _short in (
    ("second", 1),
    ("minute", 60),
    ("hour", 3600),
    ("day", 86400),
    ("week", 604800),
    ("year", 31536000),
):
    _SECONDS |= {_word: float(_short), f"{_word}s": float(_short)}
_ONE = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,6})?)\s*([A-Za-z]*)")
_MOST = 2**62


def size(value: object) -> int:
    """Read bytes: a whole number, or a text with a unit (kB is 1000, KiB is 1024).

    >>> size("64 MB"), size("1.5 GiB"), size(10)
    (64000000, 1610612736, 10)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        number: float = value
    elif isinstance(value, str) and (found := _ONE.fullmatch(value.strip())):
        figure: float = float(found[1]) if "." in found[1] else int(found[1])
        number = figure * _SIZES.get(found[2].lower(), -1)
    else:
        number = -1
    if not 0 <= number < _MOST:
        raise ConfigError('wanted a size like "64 MB", "2 GiB" or a number of bytes')
    return int(number)


def show_size(value: int) -> str:
    """Spell bytes in the largest unit that they fill wholly.

    >>> show_size(2 * 2**30), show_size(64_000_000), show_size(1234)
    ('2 GiB', '64 MB', '1234')
    """
    for unit in ("TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "kB"):
        whole, rest = divmod(value, _SIZES[unit.lower()])
        if whole and not rest:
            return f"{whole} {unit}"
    return str(value)


def duration(value: object) -> float:
    """Read seconds: a number, or a text with units (w, d, h, m or min, s, ms, or the words: 4 weeks).

    >>> duration("6h"), duration("1 h 30 min"), duration(0.5), duration("4 weeks")
    (21600.0, 5400.0, 0.5, 2419200.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str) and len(value) < 100 and not _ONE.sub("", value).strip():
        parts = [(float(figure), unit.lower()) for figure, unit in _ONE.findall(value)]
        known = all(unit in _SECONDS for _, unit in parts) or (len(parts) == 1 and not parts[0][1])
        known = known and bool(parts)
        number = sum(figure * _SECONDS.get(unit, 1.0) for figure, unit in parts) if known else -1.0
    else:
        number = -1.0
    if not 0 <= number <= 3650 * 86400:
        raise ConfigError('wanted a duration like "30 s", "6h", "1h 30m" or a number of seconds')
    return number


def show_duration(value: float) -> str:
    """Spell seconds in the largest unit that they fill wholly.

    >>> show_duration(21600.0), show_duration(90.0), show_duration(0.25)
    ('6 h', '90 s', '250 ms')
    """
    if value == 0:
        return "0 s"
    for unit in ("d", "h", "min", "s"):
        whole, rest = divmod(value, _SECONDS[unit])
        if whole and not rest:
            return f"{int(whole)} {unit}"
    return f"{value * 1000:g} ms" if value < 1 else f"{value:.3f}".rstrip("0") + " s"
