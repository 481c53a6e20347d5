"""`calharness judge` turns a file of predictions into a judgement in words and numbers."""
