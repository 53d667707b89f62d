"""Adapters for other systems, a module each. A module needs the package of its system, which this package does not install."""
