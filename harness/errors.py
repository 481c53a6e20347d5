"""The two things that can be said about a number that is not there."""


class BadInputError(ValueError):
    """The caller gave something that cannot be used. The message is one sentence: which argument, what was found,
    what is allowed. The command line prints it and exits with status 2."""


class UndefinedError(Exception):
    """The estimate does not exist for this sample (too few samples, an infinite loss). Recorded with its reason."""
