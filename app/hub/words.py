"""Numbers for a person: bytes, times, parameters.  Pure."""

_DECIMAL = ("B", "kB", "MB", "GB", "TB")


def size(count: float) -> str:
    """Bytes in decimal units: `1.2 GB`."""
    value, power = float(count), 0
    while value >= 999.5 and power < len(_DECIMAL) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.0f} {_DECIMAL[power]}" if not power or value >= 99.5 else f"{value:.1f} {_DECIMAL[power]}"  # fmt: skip


def duration(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h 10 min`."""
    whole = max(1, round(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def parameters(count: int) -> str:
    """`135M`, `7.2B`; "" for 0."""
    if count <= 0:
        return ""
    if count < 999_500_000:
        return f"{max(1, round(count / 1e6))}M"
    billions = count / 1e9
    return f"{billions:.0f}B" if billions >= 99.5 else f"{f'{billions:.1f}'.removesuffix('.0')}B"
