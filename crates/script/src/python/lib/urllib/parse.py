"""`urllib.parse`, for text. Results of `urlsplit` and `urlparse` have no `len()` and no `_replace`."""

from collections import namedtuple

always_safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"
with_relative = " ftp http gopher nntp imap wais file https shttp mms prospero rtsp rtspu sftp svn svn+ssh ws wss "
with_params = " ftp hdl prospero http imap https shttp rtsp rtspu sip sips mms sftp tel "
hex_codes = b"0123456789abcdefABCDEF"
scheme_letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."


def quote(string, safe="/", encoding="utf-8", errors="strict"):
    data = string.encode(encoding, errors) if isinstance(string, str) else string
    return quote_from_bytes(data, safe)


def quote_from_bytes(bs, safe="/"):
    if not isinstance(bs, bytes):
        raise TypeError("quote_from_bytes() expected bytes")
    if isinstance(safe, bytes):
        safe = safe.decode("ascii", "ignore")
    kept = always_safe + safe
    table = {code: chr(code) if code < 128 and chr(code) in kept else "%%%02X" % code for code in set(bs)}
    return "".join([table[code] for code in bs])


def quote_plus(string, safe="", encoding="utf-8", errors="strict"):
    space = b" " if isinstance(safe, bytes) else " "
    return quote(string, safe + space, encoding, errors).replace(" ", "+")


def unquote_to_bytes(string):
    data = string.encode() if isinstance(string, str) else string
    first, *rest = data.split(b"%")
    parts = [first]
    for part in rest:
        if len(part) > 1 and part[0] in hex_codes and part[1] in hex_codes:
            parts.append(bytes.fromhex(part[:2].decode("ascii")) + part[2:])
        else:
            parts.append(b"%" + part)
    return b"".join(parts)


def unquote(string, encoding="utf-8", errors="replace"):
    if isinstance(string, bytes):
        return unquote_to_bytes(string).decode(encoding, errors)
    if "%" not in string:
        return string
    return unquote_to_bytes(string).decode(encoding, errors)


def unquote_plus(string, encoding="utf-8", errors="replace"):
    return unquote(string.replace("+", " "), encoding, errors)


def urlencode(query, doseq=False, safe="", encoding="utf-8", errors="strict", quote_via=quote_plus):
    rows = query.items() if isinstance(query, dict) else query
    parts = []
    for key, value in rows:
        listed = doseq and isinstance(value, (list, tuple, set, frozenset, dict))
        for each in value if listed else [value]:
            texts = [text if isinstance(text, (str, bytes)) else str(text) for text in (key, each)]
            parts.append("=".join([quote_via(text, safe) for text in texts]))
    return "&".join(parts)


def parse_qsl(
    qs, keep_blank_values=False, strict_parsing=False, encoding="utf-8", errors="replace", max_num_fields=None,
    separator="&"
):
    if max_num_fields is not None and qs.count(separator) + 1 > max_num_fields:
        raise ValueError("Max number of fields exceeded")
    pairs = []
    for field in qs.split(separator) if qs else []:
        name, equals, value = field.partition("=")
        if not equals and strict_parsing:
            raise ValueError("bad query field: " + repr(field))
        if value or (keep_blank_values and (field or strict_parsing)):
            pairs.append((unquote_plus(name, encoding, errors), unquote_plus(value, encoding, errors)))
    return pairs


def parse_qs(qs, keep_blank_values=False, strict_parsing=False, **options):
    found = {}
    for name, value in parse_qsl(qs, keep_blank_values, strict_parsing, **options):
        found.setdefault(name, []).append(value)
    return found


class Result:
    """The parts of a URL, by name and by index, and the parts of its network location, by name."""

    def __init__(self, kind, names, values):
        self._kind = kind
        self._names = names
        self._values = tuple(values)
        for name, value in zip(names, values):
            setattr(self, name, value)
        user, at, place = self.netloc.rpartition("@")
        name, colon, password = user.partition(":")
        self.username = name if at else None
        self.password = password if at and colon else None
        _, bracket, inside = place.partition("[")
        if bracket:
            host, _, port = inside.partition("]")
            port = port.partition(":")[2]
        else:
            host, _, port = place.partition(":")
        zone, percent, rest = host.partition("%")
        self.hostname = zone.lower() + percent + rest or None
        if not port:
            self.port = None
        elif port.isdigit() and port.isascii() and int(port) <= 65535:
            self.port = int(port)
        # An invalid port is not set, so that reading `port` raises an error, as in CPython.

    def geturl(self):
        return urlunsplit(self) if self._kind == "SplitResult" else urlunparse(self)

    def __iter__(self):
        return iter(self._values)

    def __getitem__(self, index):
        return self._values[index]

    def __eq__(self, other):
        return self._values == (other._values if isinstance(other, Result) else other)

    def __hash__(self):
        return hash(self._values)

    def __repr__(self):
        fields = [name + "=" + repr(value) for name, value in zip(self._names, self._values)]
        return self._kind + "(" + ", ".join(fields) + ")"


def check_address(host):
    """Raises an error unless the text between brackets looks like an address of IPv6 or of a later version."""
    plain = host.partition("%")[0]
    if host[:1] == "v" or plain.count(":") > 1 and all([letter in "0123456789abcdefABCDEF:." for letter in plain]):
        return
    raise ValueError(repr(host) + " does not appear to be an IPv4 or IPv6 address")


def urlsplit(url, scheme="", allow_fragments=True):
    if not isinstance(url, str):
        raise TypeError("the embedded engine's `urllib.parse` takes str, not " + type(url).__name__)
    url = url.lstrip("".join([chr(code) for code in range(33)]))
    for unsafe in "\t\r\n":
        url = url.replace(unsafe, "")
    netloc = query = fragment = ""
    colon = url.find(":")
    start = url[:colon]
    if colon > 0 and start[0].isascii() and start[0].isalpha() and all([letter in scheme_letters for letter in start]):
        scheme, url = start.lower(), url[colon + 1 :]
    if url[:2] == "//":
        end = min([at for at in [url.find(mark, 2) for mark in "/?#"] if at >= 0], default=len(url))
        netloc, url = url[2:end], url[end:]
        if ("[" in netloc) != ("]" in netloc):
            raise ValueError("Invalid IPv6 URL")
        if "[" in netloc:
            check_address(netloc.partition("[")[2].partition("]")[0])
    if allow_fragments and "#" in url:
        url, _, fragment = url.partition("#")
    if "?" in url:
        url, _, query = url.partition("?")
    return Result(
        "SplitResult", ["scheme", "netloc", "path", "query", "fragment"], [scheme, netloc, url, query, fragment]
    )


def urlparse(url, scheme="", allow_fragments=True):
    scheme, netloc, path, query, fragment = urlsplit(url, scheme, allow_fragments)
    params = ""
    last = path.rfind("/") + 1
    if ";" in path[last:] and (not scheme or " " + scheme + " " in with_params):
        at = path.find(";", last)
        path, params = path[:at], path[at + 1 :]
    return Result(
        "ParseResult",
        ["scheme", "netloc", "path", "params", "query", "fragment"],
        [scheme, netloc, path, params, query, fragment],
    )


def urlunsplit(components):
    scheme, netloc, url, query, fragment = components
    if netloc or (scheme and " " + scheme + " " in with_relative and url[:2] != "//"):
        if url and url[:1] != "/":
            url = "/" + url
        url = "//" + netloc + url
    if scheme:
        url = scheme + ":" + url
    return url + ("?" + query if query else "") + ("#" + fragment if fragment else "")


def urlunparse(components):
    scheme, netloc, url, params, query, fragment = components
    return urlunsplit([scheme, netloc, url + ";" + params if params else url, query, fragment])


def resolved(path):
    """The path without `.` and `..` segments (RFC 3986, 5.2.4)."""
    kept = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if kept:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept) or "/"


def urljoin(base, url, allow_fragments=True):
    if not base or not url:
        return url or base
    start = urlparse(base, "", allow_fragments)
    end = urlparse(url, start.scheme, allow_fragments)
    if end.scheme != start.scheme or " " + end.scheme + " " not in "  " + with_relative:
        return url
    if end.netloc:
        return urlunparse(end)
    if not end.path and not end.params:
        query = end.query or start.query
        return urlunparse([end.scheme, start.netloc, start.path, start.params, query, end.fragment])
    path = end.path
    if path[:1] != "/":
        before = start.path.split("/")[:-1]
        segments = [segment for segment in before[1:] if segment]
        path = "/".join(before[:1] + segments + path.split("/"))
        if start.netloc and path[:1] != "/":
            path = "/" + path
    return urlunparse([end.scheme, start.netloc, resolved(path), end.params, end.query, end.fragment])


DefragResult = namedtuple("DefragResult", ["url", "fragment"])


def urldefrag(url):
    if "#" not in url:
        return DefragResult(url, "")
    scheme, netloc, path, params, query, fragment = urlparse(url)
    return DefragResult(urlunparse([scheme, netloc, path, params, query, ""]), fragment)
