"""`io.StringIO`: a text file in memory. Line ends are kept as they are written."""

SEEK_SET = 0
SEEK_CUR = 1
SEEK_END = 2


class StringIO:
    def __init__(self, initial_value="", newline="\n"):
        if newline not in ("\n", ""):
            raise NotImplementedError("the embedded engine's `StringIO` takes newline='\\n' or ''")
        if initial_value is not None and not isinstance(initial_value, str):
            raise TypeError("initial_value must be str or None, not " + type(initial_value).__name__)
        self.closed = False
        # Written texts wait here: joining them one by one would take quadratic time.
        self._parts = []
        self._text = initial_value or ""
        self._at = 0

    def _check(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def _flush(self):
        """Writes the waiting parts into the text, at the current position."""
        self._check()
        if self._parts:
            new = "".join(self._parts)
            self._parts = []
            before = self._text[: self._at]
            before += "\0" * (self._at - len(before))
            self._text = before + new + self._text[self._at + len(new) :]
            self._at += len(new)

    def write(self, text):
        self._check()
        if not isinstance(text, str):
            raise TypeError("string argument expected, got '" + type(text).__name__ + "'")
        self._parts.append(text)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def getvalue(self):
        self._flush()
        return self._text

    def read(self, size=-1):
        self._flush()
        end = len(self._text) if size is None or size < 0 else self._at + size
        text = self._text[self._at : end]
        self._at += len(text)
        return text

    def readline(self, size=-1):
        self._flush()
        end = self._text.find("\n", self._at) + 1
        if end == 0:
            end = len(self._text)
        if size is not None and size >= 0:
            end = min(end, self._at + size)
        text = self._text[self._at : end]
        self._at += len(text)
        return text

    def readlines(self, hint=-1):
        lines = []
        while True:
            line = self.readline()
            if not line:
                return lines
            lines.append(line)

    def seek(self, offset, whence=0):
        self._flush()
        if whence == 0 and offset < 0:
            raise ValueError("Negative seek position " + str(offset))
        if whence != 0 and offset != 0:
            raise OSError("Can't do nonzero cur-relative seeks")
        if whence == 0:
            self._at = offset
        elif whence == 2:
            self._at = len(self._text)
        return self._at

    def tell(self):
        self._flush()
        return self._at

    def truncate(self, size=None):
        self._flush()
        size = self._at if size is None else size
        self._text = self._text[:size]
        return size

    def flush(self):
        self._check()

    def close(self):
        self.closed = True

    def readable(self):
        return True

    def writable(self):
        return True

    def seekable(self):
        return True

    def isatty(self):
        return False

    def __iter__(self):
        self._check()
        return self

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, kind, error, trace):
        self.close()
