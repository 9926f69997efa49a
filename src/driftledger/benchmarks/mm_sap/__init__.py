"""MM-SAP: does a model refuse what it cannot know?."""
