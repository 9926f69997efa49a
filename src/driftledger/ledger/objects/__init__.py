"""The bytes that evidence speaks of, wherever they are: DVC's cache and remote, the workspace, Git history."""
