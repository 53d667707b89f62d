"""A package: tests of the same file name are in the directory above, too."""
