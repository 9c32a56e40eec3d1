"""One module per kind of package. Each has `build(release)`, which returns the files that it wrote."""
