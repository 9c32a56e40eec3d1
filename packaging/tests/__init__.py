"""One module per test, with a function `check` that `packaging/test` calls, and tools that the tests share."""
