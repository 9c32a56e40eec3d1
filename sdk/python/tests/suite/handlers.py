"""Handlers called as plain functions: their results and their exceptions."""

import json

import shop
from shop import price

print(json.dumps(price({"name": "pen"})))
print(json.dumps(shop.search({"pattern": "^.e"})))
print(json.dumps(shop.search({})))
print(json.dumps([shop.nothing({}), shop.big({}), shop.text({}), shop.tuples({})]))
print(json.dumps(shop.caught_error({})))

for name, attempt in [
    ("price", lambda: price({"name": "car"})),
    ("bare_error", lambda: shop.bare_error({})),
    ("returned_error", lambda: shop.returned_error({})),
    ("value_error", lambda: shop.value_error({})),
    ("key_error", lambda: shop.key_error({})),
    ("divide", lambda: shop.divide({"by": 0})),
]:
    try:
        print(json.dumps([name, attempt()]))
    except RuntimeError as error:
        print(json.dumps([name, "RuntimeError", str(error)]))
    except Exception as error:
        print(json.dumps([name, type(error).__name__, str(error)]))

# Each library has its own globals.
shop.SEEN.append(1)
print(json.dumps([shop.SEEN, __name__, shop.__name__]))
