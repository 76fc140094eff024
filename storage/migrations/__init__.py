"""Schema changes, oldest first; each is frozen once released."""
