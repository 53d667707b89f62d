"""The linters find what they are for: each is shown a small tree with one fault in it."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def lint(tmp_path):
    """`lint(linter, {path: text})` -> its findings about that tree."""

    def run(linter, files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        done = subprocess.run([sys.executable, HERE / f"{linter}.py", tmp_path], capture_output=True, text=True)
        findings = done.stdout.splitlines()[:-1]
        assert done.stderr == ""
        assert done.returncode == (1 if findings else 0)
        return findings

    return run


@pytest.mark.parametrize("path, line, finding", [
    ("base/a.hpp", '#include "fs/b.hpp"', "base/ may not use fs/"),
    ("protocol/a.cpp", '#include "sessions/b.hpp"', "protocol/ may not use sessions/"),
    ("sessions/output/a.cpp", '#  include <protocol/net/b.hpp>', "sessions/output/ may not use protocol/net/"),
    ("container/a.cpp", '#include "sessions/b.hpp"', "container/ may not use sessions/"),
    ("container/kube/auth/a.cpp", '#include "container/agent/b.hpp"', "container/kube/auth/ may not use container/agent/"),
    ("container/drivers/local/a.cpp", '#include "container/kube/b.hpp"', "container/drivers/local/ may not use container/kube/"),
    ("sessions/process/a.cpp", '#include "sessions/output/b.hpp"', "sessions/process/ may not use sessions/output/"),
    ("sessions/output/a.cpp", '#include "sessions/b.hpp"', "sessions/output/ may not use sessions/"),
    ("runtime/auth/a.cpp", '#include "runtime/api/b.hpp"', "runtime/auth/ may not use runtime/api/"),
    ("runtime/dialects/kubebox/a.cpp", '#include "runtime/dialects/e2b/b.hpp"', "may not use runtime/dialects/e2b/"),
    ("sessions/a.cpp", "#include <nlohmann/json.hpp>", "sessions/ may not use nlohmann/json.hpp"),
    ("fs/a.cpp", "#include <boost/beast/http.hpp>", "fs/ may not use boost/beast/http.hpp"),
    ("runtime/a.hpp", "#include <boost/beast/core.hpp>", "Boost.Beast in a header"),
    ("runtime/a.cpp", '#include "b.hpp"', "from the top of the tree"),
    ("runtime/a.cpp", '#include "../base/b.hpp"', "named from the top"),
])
def test_an_include_against_the_arrows_is_found(lint, path, line, finding):
    (found, *_) = lint("layers", {path: f"#pragma once\n{line}\n"})
    assert found.startswith(f"{path}:2: ") and finding in found


def test_includes_along_the_arrows_are_fine(lint):
    assert lint("layers", {
        "runtime/a.cpp": '#include "runtime/a.hpp"\n#include "sessions/b.hpp"\n#include "protocol/c.hpp"\n#include <vector>\n',
        "sessions/a.cpp": '#include "fs/b.hpp"\n#include "base/c.hpp"\n#include <boost/asio/post.hpp>\n',
        "protocol/a.hpp": "#include <boost/beast/http.hpp>\n",
        "fs/tree/a.cpp": '#include "fs/content/b.hpp"\n#include "fs/path/c.hpp"\n',
        "sessions/b.cpp": '#include "sessions/process/warm/c.hpp"\n#include "sessions/output/d.hpp"\n',
        "runtime/dialects/kubebox/a.cpp": '#include "runtime/dialects/b.hpp"\n#include "runtime/api/files/c.hpp"\n#include "fs/path/d.hpp"\n',
        "container/drivers/pods/a.cpp": '#include "container/kube/auth/b.hpp"\n#include "container/cluster/c.hpp"\n',
    }) == []


def test_a_directory_without_a_row_is_found(lint):
    assert lint("layers", {"fs/odds/a.cpp": ""}) == ["fs/odds/a.cpp: tests/lint/rooms.py has no row for fs/odds/"]


def test_a_room_with_too_many_files_is_found(lint):
    files = {f"fs/path/a{n}.hpp": "" for n in range(26)}
    assert lint("layers", files) == ["fs/path/: 26 files, more than 25: split it by noun"]


def test_an_exception_that_nothing_needs_is_found(lint):
    assert lint("layers", {"fs/archive/archive.cpp": "#include <vector>\n", "fs/search/walk.hpp": ""}) == [
        "tests/lint/rooms.py: fs/archive/archive.cpp does not include fs/search/walk.hpp"]


def test_a_map_that_is_out_of_date_is_found(lint):
    (found,) = lint("map", {"docs/map.md": "# Where everything is\n", "fs/path/a.hpp": ""})
    assert found.startswith("docs/map.md: ")


def test_a_source_file_that_does_not_begin_with_its_own_header_is_found(lint):
    tree = {"fs/a.hpp": "#pragma once\n", "fs/a.cpp": '#include <vector>\n\n#include "fs/a.hpp"\n'}
    assert lint("layers", tree) == ['fs/a.cpp:1: include "fs/a.hpp" first']


def test_too_many_files_with_beast_are_found(lint):
    tree = {f"protocol/a{n}.cpp": "#include <boost/beast/http.hpp>\n" for n in range(11)}
    (found,) = lint("layers", tree)
    assert "11 files" in found


sys.path.insert(0, str(pathlib.Path(__file__).parent))
import mirror  # noqa: E402

MIRRORED = dict.fromkeys(mirror.TESTED_ELSEWHERE, "")


def test_a_file_without_its_test_is_found(lint):
    assert lint("mirror", {**MIRRORED, "fs/write.cpp": ""}) == ["fs/write.cpp: has no tests/fs/write_test.cpp"]


def test_a_test_of_nothing_and_a_needless_exception_are_found(lint):
    findings = lint("mirror", {**MIRRORED, "tests/base/async/asio_test.cpp": "", "tests/base/gone_test.cpp": ""})
    assert len(findings) == 2
    assert "base/async/asio.cpp needs no exception" in findings[0]
    assert findings[1].startswith("tests/base/gone_test.cpp: tests neither")


def test_a_mirrored_tree_is_fine(lint):
    assert lint("mirror", {**MIRRORED, "fs/content/write.cpp": "", "tests/fs/content/write_test.cpp": "", "base/id.hpp": "",
                           "tests/base/id_test.cpp": ""}) == []


def test_a_file_that_is_too_long_is_found(lint):
    assert lint("lengths", {"base/a.cpp": "\n" * 501, "base/b.cpp": "\n" * 500, "base/c.hpp": "\n" * 301,
                            "sdk/typescript/src/d.ts": "\n" * 501}) == [
        "base/a.cpp: 501 lines, more than 500: more than one concept?",
        "base/c.hpp: 301 lines, more than 300: more than one concept?",
        "sdk/typescript/src/d.ts: 501 lines, more than 500: more than one concept?"]


def test_dialects_that_grew_too_large_are_found(lint):
    part = "// why\n\n" + "code\n" * 400
    assert lint("lengths", {"runtime/dialects/table.cpp": part, "runtime/dialects/e2b/messages.cpp": part,
                            **{f"runtime/dialects/{name}/{file}.cpp": part for name in ("e2b", "other") for file in "abc"},
                            "runtime/dialects/other/messages.hpp": "code\n"}) == [
        "runtime/dialects/other: 1201 lines of code, more than 1200: what of it belongs below?"]


def test_documents_that_drifted_are_found(lint):
    findings = lint("docs", {
        "README.md": "[a](docs/a.md) [b](docs/gone.md) [c](docs/a.md#the-part) [d](docs/a.md#no) [e](https://x.org/y)\n"
                     "```\nmake run && make tast\n```\nSee `fs/write.cpp` and `base/id.hpp`, /etc/base/a.cpp, docs/adr/0001, docs/adr/0002.\n",
        "docs/a.md": "# The part\n", "base/id.hpp": "", "docs/adr/0001-a.md": "", "Makefile": "run test: x\n\ttrue\n"})
    assert findings == [
        "README.md: the link docs/gone.md leads nowhere",
        "README.md: the link docs/a.md#no names no heading",
        "README.md: `make tast`: there is no such target",
        "README.md:5: there is no fs/write.cpp",
        "README.md:5: there is no docs/adr/0002-*.md"]


def test_words_that_nobody_else_uses_are_found(lint):
    assert lint("words", {
        "README.md": "A folder. There is no such file. It is no longer kept.\n\nThis is no file.\n",
        "fs/a.cpp": '// a folder\nconst auto folder = field("folder", "Its folder", 1\'000);\nfail("it is no file", R"(two\nfolders)");\n'}) == [
        'README.md:1: "folder": better "directory"',
        'README.md:3: "is no file": better "is not a ..."',
        'fs/a.cpp:1: "folder": better "directory"',
        'fs/a.cpp:2: "folder": better "directory"',
        'fs/a.cpp:3: "is no file": better "is not a ..."',
        'fs/a.cpp:3: "folders": better "directory"']


def test_comments_without_a_subject_are_found(lint):
    text = ("/// Of the file.\nint a;  ///< What is left\n/// Whoever asks.\n///\n// Those: x\n"
            "/// The owner. Nobody else, and no other file\n/// Of the disk.\nint b;  // One that waits\n/// What a reader gets. Office.\n")
    assert lint("words", {"fs/a.hpp": text}) == [
        f'fs/a.hpp:{line}: a comment begins with "{start}": begin with its subject or a verb'
        for line, start in ((1, "Of"), (2, "What is"), (3, "Whoever"), (5, "Those"), (8, "One that"))]


def test_comments_of_typescript_without_a_subject_are_found(lint):
    text = "/** Of the file. */\nlet a: number; // Whoever asks.\n/**\n * The owner.\n */\nlet b = `/v1/${a}`; // What it is\n"
    assert lint("words", {"sdk/typescript/src/a.ts": text}) == [
        f'sdk/typescript/src/a.ts:{line}: a comment begins with "{start}": begin with its subject or a verb'
        for line, start in ((1, "Of"), (2, "Whoever"))]


def test_words_and_headless_comments_of_tests_in_python_are_found(lint):
    text = ('"""What it does."""\n\n# The `folder`. It is\n# no file.\n# Of it.\nx = 1  # Those\n# One that waits.\n\n\n'
            'def test_a():\n    """Who asks."""\n    assert "Of a file" == "it is no file"\n    # There is no file.\n')
    assert lint("words", {"tests/fs/test_a.py": text}) == [
        'tests/fs/test_a.py:1: a comment begins with "What": begin with its subject or a verb',
        'tests/fs/test_a.py:11: a comment begins with "Who": begin with its subject or a verb',
        'tests/fs/test_a.py:3: "is no file": better "is not a ..."',
        'tests/fs/test_a.py:6: a comment begins with "Those": begin with its subject or a verb',
        'tests/fs/test_a.py:7: a comment begins with "One that": begin with its subject or a verb']


@pytest.mark.parametrize("line", [
    "::fchownat(directory, name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW);",
    "(void)::fchmodat(\n    directory, name, 0644, 0);",
    "fchmodat2(directory, name, 0644, 0);",
    "::syscall(SYS_fchmodat, directory, name, 0644);",
    "::utimensat(directory, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);",
    "lchown(path.c_str(), uid, gid);",
    "if (::chown(path.c_str(), uid, gid) != 0) {}",
    "::chmod(path.c_str(), 0600);",
    "std::filesystem::permissions(path, perms, options, error);",
    "std::filesystem::last_write_time(path, now);",
    "::utimes(path.c_str(), times);",
    "::lsetxattr(path.c_str(), name, value, size, 0);",
])
def test_an_owner_or_a_mode_that_is_set_by_a_name_is_found(lint, line):
    (found,) = lint("owners", {"runtime/dialects/e2b/a.cpp": f"// why\n{line}\n"})
    assert found.startswith("runtime/dialects/e2b/a.cpp:2: ") and found.endswith(" by a name: open it, and use the descriptor")


def test_an_owner_or_a_mode_that_is_set_by_a_descriptor_is_fine(lint):
    assert lint("owners", {"fs/a.cpp": """// chmod(path) would be wrong
::fchown(fd, uid, gid);
::fchmod(fd, 0600);
::fsetxattr(fd, name, value, size, 0);
::fchownat(object.get(), "", uid, gid, AT_EMPTY_PATH);
(void)::utimensat(link.get(), "", times.data(), AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
::chmod(proc_path(object.get()).c_str(), mode);
const auto mode = files::status(path).permissions();
const auto time = files::last_write_time(path);
fail("chmod(path): no", R"(chown(path))");
"""}) == []


def test_a_copy_of_the_version_is_found(lint):
    findings = lint("version", {
        "CMakeLists.txt": "project(x VERSION 1.2.3 LANGUAGES C)\n", "deploy/README.md": "image:1.2.3\n11.2.3 1.2.30 1.2.3.4\n",
        "README.md": "v1.2.3, as tagged\n", "CHANGELOG.md": "# Changes\n\n## 1.2.2\n\nafter it 1.2.3\n"})
    assert findings == ["README.md:1: repeats the version 1.2.3", "deploy/README.md:1: repeats the version 1.2.3",
                        "CHANGELOG.md: has no heading for 1.2.3"]


def test_one_version_with_its_heading_is_fine(lint):
    assert lint("version", {"CMakeLists.txt": "project(x VERSION 1.2.3 LANGUAGES C)\n", "CHANGELOG.md": "## [1.2.3] - 2026-11-22\n"}) == []


def test_a_library_that_the_notices_do_not_name_is_found(lint):
    tree = {
        "NOTICE": "libssl, libcrypto, libre2, headers boost/; npm packages known\n",
        "CMakeLists.txt": "skiff_layer(base OpenSSL::Crypto)\ntarget_link_libraries(skiff_fs PUBLIC re2 ${zstd})\n"
                          "find_library(ZSTD libzstd.a REQUIRED)\nforeach(archive yaml-cpp acl)\nendforeach()\n",
        "base/a.cpp": "#include <boost/asio/post.hpp>\n#include <sys/stat.h>\n#include <openssl/evp.h>\n#include <vector>\n",
        "base/b.cpp": "#include <nlohmann/json.hpp>\n",
        "container/console/page/package.json": '{"dependencies": {"known": "1.0.0", "@some/known": "1.0.0"}, "devDependencies": {"tool": "1"}}',
    }
    assert lint("notices", tree) == [
        *(f"CMakeLists.txt: lib{name} is linked, and NOTICE does not name it" for name in ("acl", "yaml-cpp", "zstd")),
        "base/b.cpp: includes <nlohmann/...>, and NOTICE does not name headers nlohmann/",
        "container/console/page/package.json: @some/known is in the page, and NOTICE does not name it"]


def test_the_notices_are_what_the_installed_packages_say():
    written = subprocess.run([sys.executable, "-B", HERE.parents[1] / ".ci/notices"], capture_output=True, text=True, check=True)
    assert written.stdout == (HERE.parents[1] / "NOTICE").read_text(), "run `.ci/notices >NOTICE`"


def test_a_table_and_a_picture_that_are_not_of_what_is_kept_are_found(lint):
    table = '{"machine": "a", "rows": []}'
    kept = {f"docs/figures/{name}.json": text for name, text in {
        "peers": '{"columns": ["", "bare server", "skiffd"], "cells": [["run", "A", "A"], ["`sh -c true`, one client, p50 (ms)", "1", "2"], '
                 '["streamed output (MB/s)", "2", "1"], ["memory, idle", "1", "5"]]}',
        "launcher": '{"machine": "", "rows": [{"title": "`skiff exec`, p50", "ratio": 0.5}]}',
        "requests": '{"rows": [{"title": "skiff", "requests": 3}]}', "whole": table}.items()}
    page = "<!-- run: whole -->\n<!-- end of run -->\n"
    findings = lint("figures", {**kept, "docs/figures.md": page, "docs/figures/old.svg": ""})
    assert len(findings) == 7 and "docs/figures.md: not what is kept" in findings[0] and "old.svg: nothing makes it" in findings[-1]
    findings = lint("figures", {"docs/figures/peers.json": "{"})
    assert len(findings) == 1 and "JSONDecodeError" in findings[0]
