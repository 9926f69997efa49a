"""The bytes that evidence names, wherever they are: DVC's cache and remote, the workspace, Git
history."""
