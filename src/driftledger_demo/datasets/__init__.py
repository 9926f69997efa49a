"""Images that come in the wheels of libraries, or are drawn."""
