"""How far a score could have come out otherwise: over other samples, other images, or beside another score."""
