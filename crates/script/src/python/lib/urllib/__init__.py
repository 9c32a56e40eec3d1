"""`urllib` has only `urllib.parse`: scripts call the API with `svc.api`."""
