"""What everything else stands on; imports nothing of ours."""
