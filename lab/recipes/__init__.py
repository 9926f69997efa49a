"""More describers than ``trio/`` holds: close neighbours along one recipe, one that was not taught choices, and a pair
of describer and painter whose captions leave facts out, so that chains drift.

They are trained and evaluated by ``python -m lab.recipes``, from ``trio/recipes.yaml``; what is in Git is its report.
"""
