"""`calharness judge`: a file of predictions becomes a judgement in words, numbers and pictures."""
