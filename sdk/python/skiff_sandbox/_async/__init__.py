"""The asynchronous faces, from which the synchronous ones are generated."""
