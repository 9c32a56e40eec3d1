"""Handlers of a small shop for the suite, with every kind of failure."""

import json
import re

from svc import jsonrpc

PRICES = {"ink": 3, "pen": 12, "desk": 250}
SEEN = []


def price(params):
    name = params["name"]
    if name not in PRICES:
        raise jsonrpc.error(404, f"there is no `{name}`", {"name": name, "known": sorted(PRICES)})
    return {"name": name, "price": PRICES[name]}


def search(params):
    pattern = re.compile(params.get("pattern", "."))
    return [name for name in PRICES if pattern.search(name)]


def echo(params):
    return params


def nothing(params):
    return None


def big(params):
    return 2**100


def text(params):
    return "ünïcode \u2028 \"quoted\" \n"


def tuples(params):
    return {"a": (1, 2), 3: None}


def bare_error(params):
    jsonrpc.error(1, "bare")


def returned_error(params):
    return jsonrpc.error(-32000, "returned", [1, None])


def caught_error(params):
    try:
        jsonrpc.error(5, "caught")
    except RuntimeError as error:
        return str(error)


def value_error(params):
    raise ValueError("no such note")


def no_message(params):
    raise KeyError


def key_error(params):
    return params["missing"]


def divide(params):
    return 1 / params["by"]


def not_json(params):
    return json


def infinite(params):
    return float("inf")


def bad_error_data(params):
    jsonrpc.error(1, "x", json)


def prints(params):
    print("this is for the log")
    return "printed"


def steps(params):
    jsonrpc.progress(0, 2)
    jsonrpc.progress(0.5, message="ü" * 600)
    jsonrpc.progress(2, 2, "done")
    return "reported"
