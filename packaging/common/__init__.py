"""Code that all builders and tests share. It imports nothing from them."""
