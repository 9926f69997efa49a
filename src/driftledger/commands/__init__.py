"""What each command does, without its arguments."""
