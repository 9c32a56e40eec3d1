"""`run`, `check_output` and `check_call` of the embedded engine. Scripts on the server do not have this module.

Differences from CPython: output is text; a failure with `check=True` is a `RuntimeError` and a
timeout a `TimeoutError`, since the engine does not support new exception classes.
"""

from svc import _host

PIPE = -1
STDOUT = -2
DEVNULL = -3


class CompletedProcess:
    def __init__(self, args, returncode, stdout=None, stderr=None):
        self.args = args
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr

    def __repr__(self):
        return f"CompletedProcess(args={self.args!r}, returncode={self.returncode!r})"

    def check_returncode(self):
        if self.returncode != 0:
            message = f"command {self.args!r} returned exit status {self.returncode}"
            if self.stderr:
                message = message + ": " + self.stderr.strip()
            raise RuntimeError(message)


def stream_of(name, wanted):
    """The name of this stream setting in the operation `process`."""
    if wanted is None:
        return "inherit"
    if wanted == PIPE:
        return "pipe"
    if wanted == DEVNULL:
        return "null"
    if wanted == STDOUT and name == "stderr":
        return "stdout"
    also = ", DEVNULL or STDOUT" if name == "stderr" else " or DEVNULL"
    raise ValueError(f"the embedded engine's `subprocess.run` takes {name}=PIPE{also}, not {wanted!r}")


def run(
    args, *, stdout=None, stderr=None, cwd=None, env=None, input=None, capture_output=False, text=True,
    check=False, timeout=None
):
    if isinstance(args, str):
        args = [args]
    if not text:
        raise ValueError("the embedded engine's `subprocess.run` gives text only; leave out `text=False`")
    if capture_output:
        if stdout is not None or stderr is not None:
            raise ValueError("stdout and stderr arguments may not be used with capture_output.")
        stdout = PIPE
        stderr = PIPE
    argument = {
        "args": [str(part) for part in args],
        "stdout": stream_of("stdout", stdout),
        "stderr": stream_of("stderr", stderr),
    }
    if cwd is not None:
        argument["cwd"] = str(cwd)
    if env is not None:
        argument["env"] = {str(key): str(env[key]) for key in env}
    else:
        argument["env_changes"] = _host.environment_changes()
    if input is not None:
        argument["input"] = input
    if timeout is not None:
        argument["timeout"] = timeout
    answer = _host.call("process", argument)
    done = CompletedProcess(args, answer["returncode"], answer["stdout"], answer["stderr"])
    if check:
        done.check_returncode()
    return done


def check_output(args, *, stderr=None, cwd=None, env=None, input=None, text=True, timeout=None):
    done = run(
        args, stdout=PIPE, stderr=stderr, cwd=cwd, env=env, input=input, text=text, check=True, timeout=timeout
    )
    return done.stdout


def check_call(args, *, stdout=None, stderr=None, cwd=None, env=None, timeout=None):
    run(args, stdout=stdout, stderr=stderr, cwd=cwd, env=env, check=True, timeout=timeout)
    return 0
