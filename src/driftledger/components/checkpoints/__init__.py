"""Components with weights: which bytes a name stands for, where they are loaded, and what device they run on."""
