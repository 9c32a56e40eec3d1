"""`subprocess.run` of the embedded engine; only scripts in a space have it.

Differences from CPython: output is text; a failure with `check=True` is a `RuntimeError` and a
timeout a `TimeoutError`, since the engine has no exceptions of a module's own.
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


def run(args, *, cwd=None, env=None, input=None, capture_output=False, text=True, check=False, timeout=None):
    if isinstance(args, str):
        args = [args]
    if not text:
        raise ValueError("the embedded engine's `subprocess.run` gives text only; leave out `text=False`")
    argument = {"args": [str(part) for part in args], "capture": bool(capture_output)}
    if cwd is not None:
        argument["cwd"] = str(cwd)
    if env is not None:
        argument["env"] = {str(key): str(env[key]) for key in env}
    if input is not None:
        argument["input"] = input
    if timeout is not None:
        argument["timeout"] = timeout
    answer = _host.call("process", argument)
    stdout = answer.get("stdout") if capture_output else None
    stderr = answer.get("stderr") if capture_output else None
    done = CompletedProcess(args, answer["returncode"], stdout, stderr)
    if check:
        done.check_returncode()
    return done


def check_output(args, *, cwd=None, env=None, input=None, text=True, timeout=None):
    done = run(args, cwd=cwd, env=env, input=input, capture_output=True, text=text, check=True, timeout=timeout)
    return done.stdout


def check_call(args, *, cwd=None, env=None, timeout=None):
    run(args, cwd=cwd, env=env, check=True, timeout=timeout)
    return 0
