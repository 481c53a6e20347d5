"""Sources of data: turn files into arrays of predictions and labels.

* `files` reads a user's predictions.
* `logits` reads logits in the formats of their authors.
* `tabrepo` reads the predictions of TabRepo.
* `packs` lists, downloads and verifies published files.
"""
