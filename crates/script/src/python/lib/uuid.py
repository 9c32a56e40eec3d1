"""`uuid`: `UUID`, `uuid3`, `uuid4` and `uuid5`. `uuid1` needs the hardware address and is missing."""

import hashlib
import os


class UUID:
    def __init__(self, hex=None, bytes=None, bytes_le=None, fields=None, int=None, version=None):
        if bytes_le is not None or fields is not None:
            raise NotImplementedError("the embedded engine's `UUID` takes hex, bytes or int")
        if [hex, bytes, int].count(None) != 2:
            raise TypeError("one of the hex, bytes, bytes_le, fields, or int arguments must be given")
        if hex is not None:
            int = number_of_text(hex)
        elif bytes is not None:
            if len(bytes) != 16:
                raise ValueError("bytes is not a 16-char string")
            int = number_of_hex(bytes.hex())
        elif not 0 <= int < 1 << 128:
            raise ValueError("int is out of range (need a 128-bit value)")
        if version is not None:
            if not 1 <= version <= 5:
                raise ValueError("illegal version number")
            int = int & ~(0xC000 << 48) & ~(0xF000 << 64) | 0x8000 << 48 | version << 76
        self.int = int
        self.hex = format(int, "032x")
        self.bytes = bytes_of_hex(self.hex)
        self.urn = "urn:uuid:" + str(self)
        top = int >> 62 & 3
        self.version = int >> 76 & 15 if top == 2 else None

    def __str__(self):
        return "-".join([self.hex[:8], self.hex[8:12], self.hex[12:16], self.hex[16:20], self.hex[20:]])

    def __repr__(self):
        return "UUID('" + str(self) + "')"

    def __eq__(self, other):
        return isinstance(other, UUID) and self.int == other.int

    def __hash__(self):
        return hash(self.int)

    def __int__(self):
        return self.int


def number_of_hex(digits):
    return int(digits, 16)


def bytes_of_hex(digits):
    return bytes.fromhex(digits)


def number_of_text(text):
    digits = text.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "")
    if len(digits) != 32:
        raise ValueError("badly formed hexadecimal UUID string")
    return number_of_hex(digits)


def uuid4():
    return UUID(bytes=os.urandom(16), version=4)


def named(digest, namespace, name, version):
    if isinstance(name, str):
        name = name.encode()
    return UUID(bytes=digest(namespace.bytes + name).digest()[:16], version=version)


def uuid3(namespace, name):
    return named(hashlib.md5, namespace, name, 3)


def uuid5(namespace, name):
    return named(hashlib.sha1, namespace, name, 5)


NAMESPACE_DNS = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
NAMESPACE_URL = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
NAMESPACE_OID = UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")
NAMESPACE_X500 = UUID("6ba7b814-9dad-11d1-80b4-00c04fd430c8")
