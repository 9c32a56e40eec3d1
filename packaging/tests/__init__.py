"""One module per kind of package. Each has `check(case)`, which installs the package and uses it."""
