"""What is refused: BadInputError, in one line that names the argument and its value."""

import pytest

from harness import BadInputError


def refuses(call, *words):
    """Assert that `call` raises BadInputError with one line that contains `words`."""
    with pytest.raises(BadInputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message


def each_field(table):
    """Parametrise `make, field, value` over {class: {field: values that it refuses}}."""
    cases = [
        pytest.param(
            make, field, value, id=f"{getattr(make, 'func', make).__name__}-{field}-{value}"
        )
        for make, fields in table.items()
        for field, values in fields.items()
        for value in values
    ]
    return pytest.mark.parametrize("make, field, value", cases)


def refuses_field(make, field, value):
    """Assert that the value is refused for this field, which the message names."""
    refuses(lambda: make(**{field: value}), f"{field} is ")
