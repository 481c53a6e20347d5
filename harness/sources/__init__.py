"""Sources: bytes -> arrays. `files` reads what a user has, `logits` what authors published; `packs` finds, fetches and verifies
published files."""
