"""`textwrap`: `wrap`, `fill`, `shorten`, `dedent`, `indent` and `TextWrapper`."""

import re

blank = "\t\n\x0b\x0c\r "
words_and_blanks = re.compile("[" + blank + "]+|[^" + blank + "]+")


def is_letter(text):
    return text.isalpha() or text == "_"


def breaks_after(word, at):
    """Whether a line may end after the hyphen at this position: `well-|known`, not `-x` or `3-4`."""
    before = at > 1 and is_letter(word[at - 1]) and (
        is_letter(word[at - 2]) or (at > 2 and word[at - 2] == "-" and is_letter(word[at - 3]))
    )
    rest = word[at + 1 : at + 4]
    if not before or not rest or not is_letter(rest[0]):
        return False
    following = rest[2:] if rest[1:2] == "-" else rest[1:2]
    return following != "" and is_letter(following)


def joins_words(letter):
    """Whether a dash may follow this letter."""
    return letter.isalnum() or letter in "_!\"'&.,?"


def parts_of(word):
    """Splits a word where a line may end: after hyphens, and around dashes (`--`)."""
    parts = []
    start = at = 0
    while at < len(word):
        if word[at] != "-":
            at += 1
            continue
        end = at
        while end < len(word) and word[end] == "-":
            end += 1
        if end - at > 1:
            follows = end < len(word) and (word[end].isalnum() or word[end] == "_")
            if follows and at > start and joins_words(word[at - 1]):
                parts.append(word[start:at])
                parts.append(word[at:end])
                start = end
            at = end
            continue
        if at > start and breaks_after(word, at):
            parts.append(word[start:end])
            start = end
        at = end
    if start < len(word):
        parts.append(word[start:])
    return parts


class TextWrapper:
    def __init__(
        self, width=70, initial_indent="", subsequent_indent="", expand_tabs=True, replace_whitespace=True,
        fix_sentence_endings=False, break_long_words=True, drop_whitespace=True, break_on_hyphens=True, tabsize=8,
        *, max_lines=None, placeholder=" [...]"
    ):
        if fix_sentence_endings:
            raise NotImplementedError("the embedded engine's `textwrap` has no `fix_sentence_endings`")
        self.width = width
        self.initial_indent = initial_indent
        self.subsequent_indent = subsequent_indent
        self.expand_tabs = expand_tabs
        self.replace_whitespace = replace_whitespace
        self.break_long_words = break_long_words
        self.drop_whitespace = drop_whitespace
        self.break_on_hyphens = break_on_hyphens
        self.tabsize = tabsize
        self.max_lines = max_lines
        self.placeholder = placeholder

    def chunks(self, text):
        if self.expand_tabs:
            text = text.expandtabs(self.tabsize)
        if self.replace_whitespace:
            text = re.sub("[" + blank + "]", " ", text)
        made = []
        for word in words_and_blanks.findall(text):
            if self.break_on_hyphens and "-" in word:
                made.extend(parts_of(word))
            else:
                made.append(word)
        return made

    def cut(self, chunk, width, room):
        """The length of the part of a long word that still fits; 1 if the width is 0 or less."""
        end = room if width > 0 else 1
        if self.break_on_hyphens and len(chunk) > end:
            hyphen = chunk.rfind("-", 0, end)
            if hyphen > 0 and chunk[:hyphen].strip("-"):
                end = hyphen + 1
        return end

    def wrap(self, text):
        if self.width <= 0:
            raise ValueError("invalid width " + repr(self.width) + " (must be > 0)")
        if self.max_lines is not None:
            indent = self.subsequent_indent if self.max_lines > 1 else self.initial_indent
            if len(indent) + len(self.placeholder.lstrip()) > self.width:
                raise ValueError("placeholder too large for max width")
        lines = []
        chunks = self.chunks(text)
        at = 0
        while at < len(chunks):
            indent = self.subsequent_indent if lines else self.initial_indent
            width = self.width - len(indent)
            if self.drop_whitespace and lines and not chunks[at].strip():
                at += 1
            line = []
            length = 0
            while at < len(chunks) and length + len(chunks[at]) <= width:
                line.append(chunks[at])
                length += len(chunks[at])
                at += 1
            if at < len(chunks) and len(chunks[at]) > width:
                if self.break_long_words:
                    end = self.cut(chunks[at], width, width - length)
                    line.append(chunks[at][:end])
                    chunks[at] = chunks[at][end:]
                    if not chunks[at]:
                        at += 1
                elif not line:
                    line.append(chunks[at])
                    at += 1
                length = sum([len(part) for part in line])
            if self.drop_whitespace and line and not line[-1].strip():
                length -= len(line.pop())
            if not line:
                continue
            rest = chunks[at:] if self.max_lines is not None and len(lines) + 1 >= self.max_lines else []
            last = not rest or (self.drop_whitespace and len(rest) == 1 and not rest[0].strip())
            if last and length <= width or self.max_lines is None or len(lines) + 1 < self.max_lines:
                lines.append(indent + "".join(line))
                continue
            while line:
                if line[-1].strip() and length + len(self.placeholder) <= width:
                    line.append(self.placeholder)
                    lines.append(indent + "".join(line))
                    break
                length -= len(line.pop())
            else:
                if lines and len(lines[-1].rstrip()) + len(self.placeholder) <= self.width:
                    lines[-1] = lines[-1].rstrip() + self.placeholder
                else:
                    lines.append(indent + self.placeholder.lstrip())
            break
        return lines

    def fill(self, text):
        return "\n".join(self.wrap(text))


def wrap(text, width=70, **options):
    return TextWrapper(width=width, **options).wrap(text)


def fill(text, width=70, **options):
    return TextWrapper(width=width, **options).fill(text)


def shorten(text, width, **options):
    return TextWrapper(width=width, max_lines=1, **options).fill(" ".join(text.strip().split()))


def dedent(text):
    lines = [line if line.strip(" \t") else "" for line in text.split("\n")]
    margin = None
    for line in lines:
        if not line:
            continue
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if margin is None:
            margin = indent
        while not indent.startswith(margin):
            margin = margin[:-1]
    return "\n".join([line[len(margin or "") :] for line in lines])


def indent(text, prefix, predicate=None):
    lines = []
    for line in text.splitlines(True):
        wanted = line.strip() if predicate is None else predicate(line)
        lines.append(prefix + line if wanted else line)
    return "".join(lines)
