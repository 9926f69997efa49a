"""Charts as SVG: pure functions of numbers and names, which give the same bytes everywhere."""
