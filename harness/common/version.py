"""The version of the package."""

VERSION = "0.4.0"
