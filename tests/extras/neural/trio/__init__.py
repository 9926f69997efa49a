"""Tests of the trio; a package, so that its modules may be called as those of others are."""
