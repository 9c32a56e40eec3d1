"""`urllib` has only `urllib.parse`: scripts call the API by `svc.api`."""
