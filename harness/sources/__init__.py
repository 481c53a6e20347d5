"""Sources: bytes -> arrays.

`files` reads a user's predictions, `logits` what authors published, `tabrepo` the predictions of
TabRepo. `packs` lists, fetches and verifies published files.
"""
