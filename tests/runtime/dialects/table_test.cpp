#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "runtime/dialects/dialect.hpp"
#include "tests/support/page.hpp"

namespace skiff::runtime::dialects {
namespace {

TEST(DialectTable, EqualsTheCommittedPage) {
  if (std::ranges::find(table(), "kubebox", &Dialect::name) == table().end()) {
    GTEST_SKIP() << "this build has left kubebox out, which the page has";
  }
  test::MarkdownTable rows{{"Dialect", "Ports", "What is spoken there"}};
  for (const Dialect& dialect : table()) {
    std::string ports;
    std::string spoken;
    for (const Endpoint& endpoint : dialect.endpoints) {
      ports += (ports.empty() ? "" : ", ") + std::to_string(endpoint.port);
      spoken += (spoken.empty() ? "" : ", ") + std::string{endpoint.speaks};
    }
    rows.add({test::code(dialect.name), ports, spoken});
  }
  test::expect_page("dialects/ports.md",
                    "# Where clients look for a dialect\n\n"
                    "skiffd takes these ports for `--dialect NAME`, and `skiff up --dialect NAME` opens them in a "
                    "sandbox's Pod, its Service and\nits network policy. Which clients come to them is in "
                    "[clients.md](../clients.md).\n\n" +
                        rows.text() +
                        "\nThis page is generated from skiffd's table: run `runtime_tests` with `SKIFF_UPDATE_DOCS=1` "
                        "after a change.\n");
}

}  // namespace
}  // namespace skiff::runtime::dialects
