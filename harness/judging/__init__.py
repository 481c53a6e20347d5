"""`calharness judge`: what a file of predictions says about its model, in words, numbers and pictures."""
