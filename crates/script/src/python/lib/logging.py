"""`logging` to stderr, or to any object with a method `write`.

A logger passes its records to its own handlers and to those of its parents. Subclasses of
`Handler`, filters and configuration files need CPython.
"""

import sys
import time

import traceback

CRITICAL = FATAL = 50
ERROR = 40
WARNING = WARN = 30
INFO = 20
DEBUG = 10
NOTSET = 0

names = {50: "CRITICAL", 40: "ERROR", 30: "WARNING", 20: "INFO", 10: "DEBUG", 0: "NOTSET"}
BASIC_FORMAT = "%(levelname)s:%(name)s:%(message)s"
fields = ["asctime", "created", "levelname", "levelno", "message", "msecs", "name"]
# The level up to which `disable` hides records.
disabled = [NOTSET]


def getLevelName(level):
    for number, name in names.items():
        if name == level:
            return number
    return names.get(level, "Level " + str(level))


def addLevelName(level, levelName):
    names[level] = levelName


def number_of(level):
    if isinstance(level, int):
        return level
    if not isinstance(level, str):
        raise TypeError("Level not an integer or a valid string: " + repr(level))
    number = {"WARN": 30, "FATAL": 50}.get(level) or getLevelName(level)
    if not isinstance(number, int):
        raise ValueError("Unknown level: " + repr(level))
    return number


def disable(level=CRITICAL):
    disabled[0] = number_of(level)


class LogRecord:
    def __init__(self, name, levelno, msg, args):
        self.name = name
        self.levelno = levelno
        self.levelname = getLevelName(levelno)
        self.msg = msg
        self.args = args
        self.created = time.time()
        self.msecs = int(self.created % 1 * 1000)
        self.exc_text = None

    def getMessage(self):
        text = str(self.msg)
        if not self.args:
            return text
        first = self.args[0]
        return text % (first if len(self.args) == 1 and isinstance(first, dict) and first else self.args)


class Formatter:
    def __init__(self, fmt=None, datefmt=None, style="%"):
        if style not in ("%", "{"):
            raise NotImplementedError("the embedded engine's `logging` has the styles % and {")
        self.style = style
        self.datefmt = datefmt
        self._fmt = fmt or ("%(message)s" if style == "%" else "{message}")

    def formatTime(self, record, datefmt=None):
        moment = time.localtime(record.created)
        if datefmt:
            return time.strftime(datefmt, moment)
        return time.strftime("%Y-%m-%d %H:%M:%S", moment) + "," + format(record.msecs, "03d")

    def format(self, record):
        values = {name: getattr(record, name, None) for name in fields}
        values["message"] = record.getMessage()
        if "asctime" in self._fmt:
            values["asctime"] = self.formatTime(record, self.datefmt)
        try:
            text = self._fmt % values if self.style == "%" else self._fmt.format(**values)
        except KeyError as error:
            raise ValueError("the embedded engine's `logging` has no field " + str(error))
        return text + "\n" + record.exc_text if record.exc_text else text


class StreamHandler:
    def __init__(self, stream=None):
        self.stream = stream
        self.level = NOTSET
        self.formatter = None

    def setLevel(self, level):
        self.level = number_of(level)

    def setFormatter(self, formatter):
        self.formatter = formatter

    def handle(self, record):
        text = (self.formatter or Formatter()).format(record) + "\n"
        traceback.put(text, self.stream)


class NullHandler:
    level = CRITICAL + 1

    def handle(self, record):
        pass


class Logger:
    def __init__(self, name, parent=None):
        self.name = name
        self.parent = parent
        self.level = WARNING if parent is None else NOTSET
        self.handlers = []
        self.propagate = True
        self.disabled = False

    def __repr__(self):
        kind = "RootLogger " if self.parent is None else "Logger "
        return "<" + kind + self.name + " (" + getLevelName(self.getEffectiveLevel()) + ")>"

    def setLevel(self, level):
        self.level = number_of(level)

    def getEffectiveLevel(self):
        logger = self
        while logger.level == NOTSET and logger.parent is not None:
            logger = logger.parent
        return logger.level

    def isEnabledFor(self, level):
        return not self.disabled and level > disabled[0] and level >= self.getEffectiveLevel()

    def addHandler(self, handler):
        if not any([own is handler for own in self.handlers]):
            self.handlers.append(handler)

    def removeHandler(self, handler):
        self.handlers = [own for own in self.handlers if own is not handler]

    def hasHandlers(self):
        return bool(self.handlers) or (self.propagate and self.parent is not None and self.parent.hasHandlers())

    def getChild(self, suffix):
        return getLogger(suffix if self.parent is None else self.name + "." + suffix)

    def log(self, level, msg, *args, exc_info=None, extra=None, stack_info=False, stacklevel=1):
        if not isinstance(level, int):
            raise TypeError("level must be an integer")
        if not self.isEnabledFor(level):
            return
        record = LogRecord(self.name, level, msg, args)
        if exc_info:
            error = exc_info if isinstance(exc_info, BaseException) else traceback.handled()
            lines = [traceback.last_line(None)] if error is None else traceback.format_exception(error)
            record.exc_text = "".join(lines).rstrip("\n")
        logger = self
        found = False
        while logger is not None:
            for handler in logger.handlers:
                found = True
                if level >= handler.level:
                    handler.handle(record)
            logger = logger.parent if logger.propagate else None
        if not found and level >= WARNING:
            StreamHandler().handle(record)

    def debug(self, msg, *args, **options):
        self.log(DEBUG, msg, *args, **options)

    def info(self, msg, *args, **options):
        self.log(INFO, msg, *args, **options)

    def warning(self, msg, *args, **options):
        self.log(WARNING, msg, *args, **options)

    def error(self, msg, *args, **options):
        self.log(ERROR, msg, *args, **options)

    def critical(self, msg, *args, **options):
        self.log(CRITICAL, msg, *args, **options)

    def exception(self, msg, *args, exc_info=True, **options):
        self.log(ERROR, msg, *args, exc_info=exc_info, **options)


root = Logger("root")
loggers = {}


def getLogger(name=None):
    if not name or name == "root":
        return root
    if name not in loggers:
        parent = name.rpartition(".")[0]
        loggers[name] = Logger(name, getLogger(parent))
    return loggers[name]


def basicConfig(*, format=None, datefmt=None, style="%", level=None, stream=None, handlers=None, force=False):
    if root.handlers and not force:
        return
    root.handlers = []
    if handlers is None:
        handlers = [StreamHandler(stream)]
    basic = BASIC_FORMAT if style == "%" else "{levelname}:{name}:{message}"
    formatter = Formatter(format or basic, datefmt, style)
    for handler in handlers:
        if isinstance(handler, StreamHandler) and handler.formatter is None:
            handler.setFormatter(formatter)
        root.addHandler(handler)
    if level is not None:
        root.setLevel(level)


def log(level, msg, *args, **options):
    if not root.handlers:
        basicConfig()
    root.log(level, msg, *args, **options)


def debug(msg, *args, **options):
    log(DEBUG, msg, *args, **options)


def info(msg, *args, **options):
    log(INFO, msg, *args, **options)


def warning(msg, *args, **options):
    log(WARNING, msg, *args, **options)


def error(msg, *args, **options):
    log(ERROR, msg, *args, **options)


def critical(msg, *args, **options):
    log(CRITICAL, msg, *args, **options)


def exception(msg, *args, exc_info=True, **options):
    log(ERROR, msg, *args, exc_info=exc_info, **options)
