"""`traceback`: shows the exception that is being handled, without the lines of its traceback."""

import sys


def handled():
    """The exception that is being handled, or None."""
    try:
        raise
    except RuntimeError as error:
        return None if str(error) == "No active exception to reraise" else error
    except BaseException as error:
        return error


def last_line(error):
    if error is None:
        return "NoneType: None\n"
    text = str(error)
    return type(error).__name__ + (": " + text if text else "") + "\n"


def format_exception_only(exc, value=None):
    return [last_line(exc if value is None else value)]


def format_exception(exc, value=None, tb=None, limit=None, chain=True):
    error = exc if value is None else value
    return ["Traceback (most recent call last):\n", last_line(error)]


def format_exc(limit=None, chain=True):
    error = handled()
    return last_line(None) if error is None else "".join(format_exception(error))


def print_exc(limit=None, file=None, chain=True):
    put(format_exc(), file)


def print_exception(exc, value=None, tb=None, limit=None, file=None, chain=True):
    put("".join(format_exception(exc, value)), file)


def put(text, file):
    if file is None or type(file).__name__ == "TextIOWrapper":
        print(text, end="", file=sys.stderr if file is None else file)
    else:
        file.write(text)
