#include "runtime/api/files/byte_range.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::api {
namespace {

using Kind = AskedRange::Kind;

void expect(std::string_view field, Kind kind, std::uint64_t from = 0, std::uint64_t to = 0) {
  const AskedRange range = parse_range(field, 1000);
  EXPECT_EQ(range.kind, kind) << field;
  if (kind != Kind::part) return;
  EXPECT_EQ(range.from, from) << field;
  EXPECT_EQ(range.to, to) << field;
}

TEST(ByteRange, IsTheRequestedPart) {
  expect("bytes=0-0", Kind::part, 0, 1);
  expect("bytes=10-19", Kind::part, 10, 20);
  expect("bytes=990-", Kind::part, 990, 1000);
  expect("bytes=-5", Kind::part, 995, 1000);
}

TEST(ByteRange, EndsWithTheFile) {
  expect("bytes=990-5000", Kind::part, 990, 1000);
  expect("bytes=-5000", Kind::part, 0, 1000);
  expect("bytes=0-18446744073709551615", Kind::part, 0, 1000);
  expect("bytes=990-99999999999999999999", Kind::part, 990, 1000);
  expect("bytes=-99999999999999999999", Kind::part, 0, 1000);
}

TEST(ByteRange, IsUnsatisfiableAfterTheEnd) {
  expect("bytes=1000-", Kind::unsatisfiable);
  expect("bytes=-0", Kind::unsatisfiable);
  expect("bytes=99999999999999999999-", Kind::unsatisfiable);
  EXPECT_EQ(parse_range("bytes=0-", 0).kind, Kind::unsatisfiable);
}

TEST(ByteRange, MeansTheWholeIfMalformed) {
  for (const auto* field : {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=1-2,4-5", "lines=1-2",
                            "bytes= 1-2", "bytes=1-2x", "bytes=99999999999999999999x-"}) {
    expect(field, Kind::whole);
  }
  EXPECT_EQ(parse_range(std::nullopt, 7).to, 7U);
}

}  // namespace
}  // namespace skiff::runtime::api
