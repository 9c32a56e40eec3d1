"""`string`, without `Formatter`."""

import re

whitespace = " \t\n\r\v\f"
ascii_lowercase = "abcdefghijklmnopqrstuvwxyz"
ascii_uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ascii_letters = ascii_lowercase + ascii_uppercase
digits = "0123456789"
hexdigits = digits + "abcdef" + "ABCDEF"
octdigits = "01234567"
punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
printable = digits + ascii_letters + punctuation + whitespace

placeholder = re.compile(r"\$(?:(\$)|([_a-zA-Z][_a-zA-Z0-9]*)|\{([_a-zA-Z][_a-zA-Z0-9]*)\}|)")


def capwords(s, sep=None):
    return (" " if sep is None else sep).join([word.capitalize() for word in s.split(sep)])


class Template:
    def __init__(self, template):
        self.template = template

    def replaced(self, mapping, names, safe):
        parts = []
        done = 0
        for match in placeholder.finditer(self.template):
            parts.append(self.template[done : match.start()])
            done = match.end()
            name = match.group(2) or match.group(3)
            if match.group(1):
                parts.append("$")
            elif name and name in names:
                parts.append(str(names[name]))
            elif name and (name in mapping or not safe):
                parts.append(str(mapping[name]))
            elif name or safe:
                parts.append(match.group())
            else:
                before = self.template[: match.start()]
                line = before.count("\n") + 1
                column = len(before) - before.rfind("\n")
                raise ValueError("Invalid placeholder in string: line " + str(line) + ", col " + str(column))
        parts.append(self.template[done:])
        return "".join(parts)

    def substitute(self, mapping={}, /, **names):
        return self.replaced(mapping, names, False)

    def safe_substitute(self, mapping={}, /, **names):
        return self.replaced(mapping, names, True)
