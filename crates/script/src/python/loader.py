"""Loads modules. Runs in a separate namespace, before any script.

The engine has no import hook, so `rewrite.rs` turns imports into calls of `get`. A module's text
runs with a dict as its namespace. The module object is a copy of that dict, updated whenever the
module is imported or one of its functions sets a global. The evaluator decides which modules exist.

This code is part of every snapshot of an evaluator and is restored for every request, so it does as
little as possible. The rest is in Rust.
"""

import json
import sys


class module:
    pass


loaded = {}
# Newer versions of Python append the number to this message. `invoke` cuts it off.
not_finite = "Out of range float values are not JSON compliant"
tools = module()
# Holds `os.environ` after its first use.
environment = []


def load(name):
    made = loaded.get(name)
    if made is None:
        file, code, needs_language = __svc_host__("module", name)
        if needs_language:
            load_language()
        made = module()
        namespace = {"__name__": name, "__file__": file, "__svc__": tools, "__svc_self__": made}
        made.__svc_namespace__ = namespace
        loaded[name] = made
        try:
            exec(code, namespace)
        except BaseException:
            loaded.pop(name)
            raise
    for key, value in made.__svc_namespace__.items():
        if not key.startswith("__svc_"):
            setattr(made, key, value)
    return made


def load_language():
    """Loads the functions with which `rewrite` replaces parts of Python."""
    if tools.python is None:
        tools.python = walk("svc._python", None)


def walk(name, child):
    """Loads every parent package, then the module itself."""
    made = None
    for path, part in __svc_host__("path", name, child):
        parent = made
        made = load(path)
        if parent is not None:
            parent.__svc_namespace__[part] = made
            setattr(parent, part, made)
    return made


def get(name, attribute=None):
    """`import name`, or `from name import attribute`."""
    made = walk(name, attribute)
    if attribute is None:
        return made
    if not hasattr(made, attribute):
        walk(name + "." + attribute, False)
    return getattr(made, attribute)


def store(target, attribute):
    """Runs after `library.name = value`: makes the value visible to the library's functions."""
    if isinstance(target, module):
        target.__svc_namespace__[attribute] = getattr(target, attribute)


def exception_text(*values):
    """The text of an exception with these arguments: the engine's exceptions hold one text."""
    return str(values[0] if len(values) == 1 else values)


def exception_texts(*values):
    """The text of an exception as a tuple; an empty tuple if there are no arguments."""
    return (exception_text(*values),) if values else ()


def is_os(target):
    """Whether `target` is the module `os`. None means `os` too.

    Compares the repr: the engine's modules have no name, and each import makes a new object.
    """
    return target is None or (isinstance(target, type(json)) and repr(target) == "<module 'os'>")


def environ(target=None):
    """`target.environ`. For `os`, returns the same dict each time, so that changes are kept."""
    if not is_os(target):
        return target.environ
    if not environment:
        import os

        environment.append(os.environ)
    return environment[0]


def getenv(target=None):
    return variable if is_os(target) else target.getenv


def variable(key, default=None):
    if environment and isinstance(key, str):
        return environment[0].get(key, default)
    import os

    return os.getenv(key, default)


def environment_changes():
    """The script's changes of `os.environ`, for processes that it starts. None marks a removed variable."""
    changes = {}
    if environment:
        import os

        now = environment[0]
        before = os.environ
        for key, value in now.items():
            for text in (key, value):
                if not isinstance(text, str):
                    raise TypeError("os.environ holds str only, not " + type(text).__name__)
            if before.get(key) != value:
                changes[key] = value
        for key in before:
            if key not in now:
                changes[key] = None
    return changes


def invoke(name, handler, params):
    result = handler(params)
    try:
        return json.dumps(result, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        reason = str(error)
        if reason.startswith(not_finite):
            reason = not_finite
    raise TypeError("`" + name + "` returned a value that JSON cannot represent: " + reason)


def call(operation, argument=None):
    text = json.dumps(argument, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return json.loads(__svc_host__("call", operation, text))


def exit(code=None):
    raise SystemExit(str(code))


tools.get = get
tools.load_language = load_language
tools.store = store
tools.exception_text = exception_text
tools.exception_texts = exception_texts
tools.iter = iter
tools.python = None
tools.invoke = invoke
tools.loads = json.loads
tools.environ = environ
tools.getenv = getenv

loaded["svc._host"] = module()
loaded["svc._host"].__svc_namespace__ = {
    "__name__": "svc._host",
    "call": call,
    "environment_changes": environment_changes,
}

# The engine's `sys` has neither `argv` nor `exit`, and cannot be changed.
system = {"__name__": "sys", "argv": argv, "platform": platform, "exit": exit}
for key in ("byteorder", "float_info", "hexversion", "implementation", "maxsize", "maxunicode"):
    if hasattr(sys, key):
        system[key] = getattr(sys, key)
for key in ("stderr", "stdout", "version", "version_info"):
    system[key] = getattr(sys, key)
loaded["sys"] = module()
loaded["sys"].__svc_namespace__ = system
