"""The Fréchet distance is clean-fid's."""

import numpy as np
import pytest
from cleanfid.fid import frechet_distance as clean

from driftledger.metrics.frechet import frechet_distance
from tests.metrics.test_reference import features


def test_frechet_distance_is_clean_fids() -> None:
    a, b = features(200, 16, 1), features(150, 16, 2)
    theirs = clean(a.mean(axis=0), np.cov(a, rowvar=False), b.mean(axis=0), np.cov(b, rowvar=False))
    assert frechet_distance(a, b) == pytest.approx(float(theirs), rel=1e-5)
