"""Sources: bytes -> arrays. `files` reads what a user has; `packs` finds, fetches and verifies published files."""
