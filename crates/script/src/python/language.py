"""Parts of Python that the embedded engine lacks or does differently.

In a script, `rewrite` replaces uses of Python's own functions by `__svc__.python.name`, the function of
this module. It does not do this in the `svc` package and in the modules of `lib`. They import
`svc._python`, which is this module, if they need its functions.
"""

import math
import re
import sys

native_hasattr = hasattr
native_print = print
native_round = round

# The engine cannot read a method of a built-in value as an attribute, so `hasattr` needs the names
# of these methods.
methods = {
    "str": " capitalize casefold center count encode endswith expandtabs find format format_map index isalnum isalpha"
    " isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower"
    " lstrip maketrans partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split"
    " splitlines startswith strip swapcase title translate upper zfill ",
    "bytes": " capitalize center count decode endswith expandtabs find fromhex hex index isalnum isalpha isascii isdigit"
    " islower isspace istitle isupper join ljust lower lstrip maketrans partition removeprefix removesuffix replace"
    " rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper"
    " zfill ",
    "list": " append clear copy count extend index insert pop remove reverse sort ",
    "tuple": " count index ",
    "dict": " clear copy fromkeys get items keys pop popitem setdefault update values ",
    "set": " add clear copy difference difference_update discard intersection intersection_update isdisjoint issubset"
    " issuperset pop remove symmetric_difference symmetric_difference_update union update ",
    "frozenset": " copy difference intersection isdisjoint issubset issuperset symmetric_difference union ",
    "int": " as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag numerator real to_bytes ",
    "float": " as_integer_ratio conjugate fromhex hex imag is_integer real ",
}
methods["bool"] = methods["int"]


def callable(value):
    kind = type(value).__name__
    if kind in ("function", "builtin_function_or_method", "type", "partial", "_lru_cache_wrapper", "method"):
        return True
    return native_hasattr(value, "__call__")


def hasattr(value, name):
    found = native_hasattr(value, name)
    if found or not isinstance(name, str):
        return found
    return " " + name + " " in methods.get(type(value).__name__, "")


def as_integer_ratio(value, *args):
    """The exact value of a float or an int, as numerator and denominator."""
    if args or not isinstance(value, (int, float)):
        return value.as_integer_ratio(*args)
    if isinstance(value, int):
        return (int(value), 1)
    if math.isnan(value):
        raise ValueError("cannot convert NaN to integer ratio")
    if math.isinf(value):
        raise OverflowError("cannot convert Infinity to integer ratio")
    fraction, exponent = math.frexp(value)
    numerator = int(fraction * 2**53)
    exponent -= 53
    if exponent >= 0:
        return (numerator * 2**exponent, 1)
    denominator = 2**-exponent
    common = math.gcd(numerator, denominator)
    return (numerator // common, denominator // common)


def round(number, ndigits=None):
    if not isinstance(number, float) or not isinstance(ndigits, int):
        return native_round(number, ndigits)
    if number == 0 or not math.isfinite(number) or ndigits > 323:
        return number
    if ndigits < -308:
        return 0.0 * number
    if ndigits >= 0:
        rounded = float(format(number, "." + str(int(ndigits)) + "f"))
    else:
        numerator, denominator = as_integer_ratio(abs(number))
        unit = 10**-ndigits
        whole, rest = divmod(numerator, denominator * unit)
        half = 2 * rest - denominator * unit
        if half > 0 or (half == 0 and whole % 2):
            whole += 1
        rounded = math.copysign(float(whole * unit), number)
    if math.isinf(rounded):
        raise OverflowError("rounded value too large to represent")
    return rounded


def index_of(value):
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (str, bytes, float)) or not native_hasattr(value, "__index__"):
        raise TypeError("'" + type(value).__name__ + "' object cannot be interpreted as an integer")
    return value.__index__()


def bytes_of(*args, **named):
    """`bytes(…)`."""
    if named or len(args) != 1 or isinstance(args[0], (str, bytes, int, float)) or args[0] is None:
        return bytes(*args, **named)
    digits = []
    for value in args[0]:
        value = index_of(value)
        if not 0 <= value <= 255:
            raise ValueError("bytes must be in range(0, 256)")
        digits.append(format(value, "02x"))
    return bytes.fromhex("".join(digits))


def from_bytes(value, byteorder="big", *, signed=False):
    """`int.from_bytes(…)`."""
    value = bytes_of(value)
    if byteorder not in ("big", "little"):
        raise ValueError("byteorder must be either 'little' or 'big'")
    if byteorder == "little":
        value = value[::-1]
    number = int(value.hex() or "0", 16)
    if signed and value and value[0] > 127:
        number -= 256 ** len(value)
    return number


def to_bytes(value, *args, **named):
    if not isinstance(value, int):
        return value.to_bytes(*args, **named)
    return integer_bytes(value, *args, **named)


def integer_bytes(value, length=1, byteorder="big", *, signed=False):
    if byteorder not in ("big", "little"):
        raise ValueError("byteorder must be either 'little' or 'big'")
    if length < 0:
        raise ValueError("length argument must be non-negative")
    if value < 0 and not signed:
        raise OverflowError("can't convert negative int to unsigned")
    limit = 256**length
    low, high = (-(limit // 2), limit // 2) if signed else (0, limit)
    if not low <= value < high and not (value == 0 and length == 0):
        raise OverflowError("int too big to convert")
    if length == 0:
        return b""
    made = bytes.fromhex(format(value % limit, "0" + str(2 * length) + "x"))
    return made if byteorder == "big" else made[::-1]


def bit_length(value, *args):
    return value.bit_length(*args) if args or not isinstance(value, int) else len(bin(abs(value)).lstrip("0b"))


def bit_count(value, *args):
    return value.bit_count(*args) if args or not isinstance(value, int) else bin(abs(value)).count("1")


def is_integer(value, *args):
    if args or not isinstance(value, float):
        return value.is_integer(*args)
    return math.isfinite(value) and value == math.floor(value)


def maketrans(first, second=None, third=None):
    """`str.maketrans(…)`."""
    if second is None:
        if not isinstance(first, dict):
            raise TypeError("if you give only one argument to maketrans it must be a dict")
        table = {}
        for key, value in first.items():
            if isinstance(key, str):
                if len(key) != 1:
                    raise ValueError("string keys in translate table must be of length 1")
                key = ord(key)
            elif not isinstance(key, int):
                raise TypeError("keys in translate table must be strings or integers")
            table[key] = value
        return table
    if len(first) != len(second):
        raise ValueError("the first two maketrans arguments must have equal length")
    table = {ord(old): ord(new) for old, new in zip(first, second)}
    for letter in third or "":
        table[ord(letter)] = None
    return table


def translate(value, *args, **named):
    if not isinstance(value, str) or named or len(args) != 1:
        return value.translate(*args, **named)
    table = args[0]
    changed = {}
    for letter in set(value):
        try:
            new = table[ord(letter)]
        except LookupError:
            continue
        if new is None:
            new = ""
        elif isinstance(new, int):
            new = chr(new)
        elif not isinstance(new, str):
            raise TypeError("character mapping must return integer, None or str")
        changed[letter] = new
    return "".join([changed.get(letter, letter) for letter in value])


def format_map(value, *args):
    if not isinstance(value, str) or len(args) != 1:
        return value.format_map(*args)
    if not isinstance(args[0], dict):
        raise NotImplementedError("the embedded engine's `format_map` takes a dict")
    return value.format(**args[0])


def sub(target, *args, **named):
    """`re.sub(…)` and `pattern.sub(…)`."""
    replaced = replace_matches(target, args, named)
    return target.sub(*args, **named) if replaced is None else replaced[0]


def subn(target, *args, **named):
    replaced = replace_matches(target, args, named, True)
    return target.subn(*args, **named) if replaced is None else replaced


def re_sub(*args, **named):
    """`sub` of `from re import sub`."""
    return sub(re, *args, **named)


def re_subn(*args, **named):
    return subn(re, *args, **named)


def replace_matches(target, args, named, counted=False):
    """The new text and the number of replacements; None if the engine's own method can do it."""
    if type(target).__name__ == "Pattern":
        return replace_in(target, counted, *args, **named)
    if type(target).__name__ == "module" and repr(target).startswith("<module 're'"):
        return replace_with(target, counted, *args, **named)
    return None


def replace_with(module, counted, pattern, repl, string, count=0, flags=0):
    if isinstance(repl, (str, bytes)) and not counted:
        return None
    if isinstance(pattern, (str, bytes)):
        pattern = module.compile(pattern, flags)
    return replace_in(pattern, counted, repl, string, count)


def replace_in(pattern, counted, repl, string, count=0):
    template = isinstance(repl, (str, bytes))
    if template and not counted:
        return None
    parts = []
    done = number = 0
    for match in pattern.finditer(string):
        if count and number == count:
            break
        number += 1
        if not template:
            parts.append(string[done : match.start()])
            parts.append(repl(match))
            done = match.end()
    if template:
        return (pattern.sub(repl, string, count), number)
    parts.append(string[done:])
    return (string[:0].join(parts), number)


def map(function, *iterables):
    if not iterables:
        raise TypeError("map() must have at least two arguments.")
    if len(iterables) == 1:
        return iter([function(value) for value in iterables[0]])
    return iter([function(*values) for values in zip(*iterables)])


def filter(function, iterable):
    if function is None:
        return iter([value for value in iterable if value])
    return iter([value for value in iterable if function(value)])


def print(*values, sep=" ", end="\n", file=None, flush=False):
    """`print(…, file=…)` to an object with a method `write`."""
    if file is None:
        return native_print(*values, sep=sep, end=end)
    if file is sys.stdout or file is sys.stderr:
        return native_print(*values, sep=sep, end=end, file=file)
    sep = " " if sep is None else sep
    file.write(sep.join([str(value) for value in values]) + ("\n" if end is None else end))


def write(stream, *args):
    """`sys.stdout.write(…)` and `sys.stderr.write(…)`."""
    if (stream is not sys.stdout and stream is not sys.stderr) or len(args) != 1 or not isinstance(args[0], str):
        return stream.write(*args)
    native_print(args[0], end="", file=stream)
    return len(args[0])


def delete(target, *key):
    """`del target[key]`."""
    key = key[0] if len(key) == 1 else key
    if isinstance(target, list):
        if isinstance(key, int) and not -len(target) <= key < len(target):
            raise IndexError("list assignment index out of range")
        target.pop(key)
    elif isinstance(target, dict):
        target.pop(key)
    else:
        raise TypeError("'" + type(target).__name__ + "' object doesn't support item deletion")
