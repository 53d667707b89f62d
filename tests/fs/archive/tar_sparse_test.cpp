#include "fs/archive/tar_sparse.hpp"

#include <gtest/gtest.h>

namespace skiff::fs {
namespace {

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Pairs pairs(const Result<std::vector<TarPiece>>& pieces) {
  Pairs seen;
  for (const TarPiece& piece : pieces.value()) seen.emplace_back(piece.offset, piece.size);
  return seen;
}

template <class T>
std::string word_of(const Result<T>& result) {
  return result ? "ok" : std::string{name(result.error().code)};
}

TEST(TarSparse, TakesTheMapsOfExtendedHeaders) {
  TarSparse turns;
  for (const auto& [key, value] : {std::pair{"GNU.sparse.size", "100"},
                                   {"GNU.sparse.numblocks", "2"},
                                   {"GNU.sparse.offset", "10"},
                                   {"GNU.sparse.numbytes", "5"},
                                   {"GNU.sparse.offset", "100"},
                                   {"GNU.sparse.numbytes", "0"}}) {
    EXPECT_EQ(word_of(turns.take(key, value)), "ok") << key;
  }
  EXPECT_EQ(turns.size().value(), 100U);
  EXPECT_EQ(pairs(turns.pieces(5)), (Pairs{{10, 5}}));
  EXPECT_EQ(word_of(turns.pieces(6)), "malformed_archive");
  EXPECT_EQ(word_of(turns.pieces(4)), "malformed_archive");

  TarSparse list;
  ASSERT_TRUE(list.take("GNU.sparse.realsize", "100"));
  ASSERT_TRUE(list.take("GNU.sparse.map", "0,1,50,2"));
  EXPECT_EQ(pairs(list.pieces(3)), (Pairs{{0, 1}, {50, 2}}));
}

TEST(TarSparse, TakesTheMapThatIsContent) {
  TarSparse sparse;
  ASSERT_TRUE(sparse.take("GNU.sparse.major", "1"));
  ASSERT_TRUE(sparse.take("GNU.sparse.realsize", "100"));
  EXPECT_TRUE(sparse.map_is_content());
  std::string text = "2\n1";
  EXPECT_EQ(sparse.take_map(text).value(), false);
  text += "0\n5\n20\n";
  EXPECT_EQ(sparse.take_map(text).value(), false);
  text += "1\n";
  text += std::string(500, '\0');
  EXPECT_EQ(sparse.take_map(text).value(), true);
  EXPECT_EQ(pairs(sparse.pieces(6)), (Pairs{{10, 5}, {20, 1}}));
}

TEST(TarSparse, RefusesMapsThatContradictThemselves) {
  for (const char* map : {"0", "5,2,6,1", "99,2", "101,0", "0,1,0,1", "x,1", "-1,1", "0,18446744073709551615"}) {
    TarSparse sparse;
    ASSERT_TRUE(sparse.take("GNU.sparse.size", "100"));
    const auto taken = sparse.take("GNU.sparse.map", map);
    EXPECT_TRUE(!taken || !sparse.pieces(3)) << map;
  }
  TarSparse sizeless;
  ASSERT_TRUE(sizeless.take("GNU.sparse.map", "0,1"));
  EXPECT_EQ(word_of(sizeless.pieces(1)), "malformed_archive");
  TarSparse turned;
  EXPECT_EQ(word_of(turned.take("GNU.sparse.numbytes", "1")), "malformed_archive");
  TarSparse later;
  EXPECT_EQ(word_of(later.take("GNU.sparse.major", "2")), "not_supported");
  for (std::string text : {"x\n", "99999999\n", "1\n-1\n", "123456789012345678901234"}) {
    TarSparse sparse;
    EXPECT_EQ(word_of(sparse.take_map(text)), "malformed_archive") << text;
  }
}

TEST(TarSparse, LimitsPieces) {
  TarSparse sparse;
  std::string map;
  for (std::size_t i = 0; i < TarSparse::kMostPieces + 1; ++i) map += "0,0,";
  map.pop_back();
  EXPECT_EQ(word_of(sparse.take("GNU.sparse.map", map)), "not_supported");
}

}  // namespace
}  // namespace skiff::fs
