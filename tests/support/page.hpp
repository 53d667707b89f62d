#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/paths.hpp"

/// The pages in docs/ that are made from the tables in the code.
namespace skiff::test {

/// The committed page is this text. Under SKIFF_UPDATE_DOCS=1 it becomes it.
inline void expect_page(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path{kDocs} / name;
  if (std::getenv("SKIFF_UPDATE_DOCS") != nullptr) std::ofstream{path} << text;
  std::ifstream file{path};
  const std::string committed{std::istreambuf_iterator<char>{file}, {}};
  EXPECT_EQ(committed, text) << "run this test with SKIFF_UPDATE_DOCS=1 and commit docs/" << name;
}

/// Text as code; nothing stays nothing.
inline std::string code(std::string_view text) {
  return text.empty() ? std::string{} : "`" + std::string{text} + "`";
}

/// A Markdown table whose columns are aligned, so that it can be read as it is; the last one is as long as it is.
class MarkdownTable {
 public:
  using Row = std::vector<std::string>;
  explicit MarkdownTable(Row heads) : rows_{std::move(heads)} {}

  /// As many cells as there are heads.
  void add(Row cells) {
    for (std::string& cell : cells) {
      for (std::size_t at = cell.find('|'); at != std::string::npos; at = cell.find('|', at + 2))
        cell.insert(at, 1, '\\');
    }
    rows_.push_back(std::move(cells));
  }

  [[nodiscard]] bool empty() const { return rows_.size() == 1; }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const Row& row : rows_) {
      for (std::size_t i = 0; i < widths.size(); ++i)
        widths[i] = std::max({widths[i], row.at(i).size(), std::size_t{3}});
    }
    widths.back() = 0;
    std::string text;
    for (const Row& row : rows_) {
      for (std::size_t i = 0; i < widths.size(); ++i) text += "| " + padded(row.at(i), widths[i]) + ' ';
      text += "|\n";
      if (&row != &rows_.front()) continue;
      for (const std::size_t width : widths) text += "|" + std::string(width == 0 ? 3 : width + 2, '-');
      text += "|\n";
    }
    return text;
  }

 private:
  static std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
  }

  std::vector<Row> rows_;
};

}  // namespace skiff::test
