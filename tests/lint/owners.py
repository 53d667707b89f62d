"""Owner, mode, times and extended attributes are set by a descriptor, never by a name. A name is looked up again, and who may rename in that
directory chooses what it means by then: so a command would be given a file of root's. An object behind O_PATH is reached by "" with
AT_EMPTY_PATH, or by proc_path(); fs/path/owner.hpp makes things that are somebody else's from the beginning."""

import re

import tree
import words

BY_NAME = re.compile(r"\b(?:SYS_|__NR_)?(fchownat|fchmodat2?|utimensat|futimesat|l?chown|chmod|l?utimes|utime|l?setxattr|l?removexattr"
                     r"|permissions|last_write_time)\s*(\(|,)")
# The text behind the parenthesis: the descriptor itself, or the name under which /proc shows it.
BY_DESCRIPTOR = re.compile(r'\s*(?:(?:[^,()]|\([^()]*\))+,\s*""\s*,|proc_path\()')
# A time or a mode that is read.
READ = re.compile(r"\s*[^,()]*(?:\([^()]*\))?[^,()]*\)")


def blanked(text):
    """The text without comments and with strings that are not empty blanked out, line by line as it was."""
    def blank(match):
        if match[0] == '""' or not match[0].startswith(('"', 'R"', "//", "/*", "'")):
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])

    return words.TOKEN.sub(blank, text)


def check(root):
    for path in tree.files(root, tree.LAYERS, tree.SOURCES):
        text = blanked((root / path).read_text())
        for match in BY_NAME.finditer(text):
            rest = text[match.end():]
            is_read = match[1] in ("permissions", "last_write_time") and READ.match(rest)
            if match[2] == "(" and (BY_DESCRIPTOR.match(rest) or is_read):
                continue
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[1]} by a name: open it, and use the descriptor"


if __name__ == "__main__":
    tree.run(check)
