"""Needs a package that nobody has."""
import no_such_framework  # noqa: F401
