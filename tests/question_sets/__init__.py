"""Tests of question sets; a package, so that its modules may be called as those of datasets are."""
