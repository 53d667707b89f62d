#include "protocol/http/multipart/parser.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct SeenPart {
  std::string name;
  std::optional<std::string> filename;
  std::string bytes;
  bool operator==(const SeenPart&) const = default;
};

/// The parts of a body that comes in pieces of that size, followed by the message of the error, if any.
std::vector<SeenPart> parts_of(std::string_view body, std::size_t piece, std::string_view boundary = "b") {
  MultipartParser parser{boundary};
  std::vector<SeenPart> parts;
  std::string held;
  std::size_t given = 0;
  for (;;) {
    const auto step = parser.next(held);
    if (!step) {
      parts.push_back({"error", {}, step.error().message});
      return parts;
    }
    using Event = MultipartParser::Event;
    if (step->event == Event::part) parts.push_back({parser.head().name, parser.head().filename, ""});
    if (step->event == Event::data) parts.back().bytes += step->bytes;
    if (step->event == Event::end) return parts;
    const bool wants_more = step->event == Event::more && step->used == 0;
    held.erase(0, step->used);
    if (!wants_more) continue;
    if (given == body.size()) {
      parts.push_back({"cut", {}, ""});
      return parts;
    }
    const auto next = body.substr(given, piece);
    held += next;
    given += next.size();
  }
}

std::string body_with(std::string_view fields, std::string_view bytes = "x") {
  return "--b\r\n" + std::string{fields} + "\r\n\r\n" + std::string{bytes} + "\r\n--b--\r\n";
}

std::string filename_in(std::string_view parameters, std::string_view more = "") {
  const auto parts = parts_of(
      body_with("Content-Disposition: form-data; name=\"file\"; " + std::string{parameters} + std::string{more}), 999);
  return parts.at(0).filename.value_or("none");
}

TEST(Multipart, BodyIsParsedTheSameHoweverItIsSplit) {
  std::string bytes = "\r\n--\r\n-\r\n--\rb\r\n--a\r\n\r\n--";
  bytes.push_back('\0');
  const std::string body =
      "a preamble\r\n--b  \r\nContent-Disposition: form-data; name=\"one\"\r\n\r\n1\r\n--b\r\n"
      "content-disposition: form-data; name=file; filename=\"f\"\r\nContent-Type: text/plain\r\n\r\n" +
      bytes + "\r\n--b\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n\r\n--b--an epilogue";
  for (std::size_t piece = 1; piece <= body.size(); ++piece) {
    EXPECT_THAT(parts_of(body, piece),
                ElementsAre(SeenPart{"one", {}, "1"}, SeenPart{"file", "f", bytes}, SeenPart{"", {}, ""}))
        << piece;
  }
}

TEST(Multipart, ATruncatedBodyIsAnError) {
  const std::string body = body_with("Content-Disposition: form-data; name=\"file\"; filename=\"f\"", "12345");
  for (std::size_t size = 0; size < body.size() - 2; ++size) {
    EXPECT_EQ(parts_of(body.substr(0, size), 7).back().name, "cut") << size;
  }
}

TEST(Multipart, NamesAreKept) {
  EXPECT_EQ(filename_in(R"(filename="a b;c=d.txt")"), "a b;c=d.txt");
  EXPECT_EQ(filename_in(R"(filename="caf\xc3\xa9")"), R"(caf\xc3\xa9)");
  EXPECT_EQ(filename_in("filename=\"caf\xc3\xa9\""), "caf\xc3\xa9");
  EXPECT_EQ(filename_in(R"(filename="50%25 %22of%22 it")"), R"(50%25 "of" it)");
  EXPECT_EQ(filename_in("filename=plain"), "plain");
  EXPECT_EQ(filename_in(R"(filename="a"; filename*=UTF-8''b%20c)"), "b c");
  EXPECT_EQ(filename_in(R"(filename*=UTF-8''b%20c; filename="a")"), "b c");
  EXPECT_EQ(filename_in(R"(filename*=latin1''b; filename="a")"), "a");
  EXPECT_EQ(filename_in("size=3"), "none");
  EXPECT_EQ(filename_in(R"(filename="")"), "");
}

TEST(Multipart, BackslashIsAnEscapeWhereThePartHasAType) {
  const std::string typed = "\r\nContent-Type: application/octet-stream";
  EXPECT_EQ(filename_in(R"(filename="a\\b\")", ""), R"(a\\b\)") << "as urllib3 writes names";
  EXPECT_EQ(filename_in(R"(filename="a\\b\"c\d")", typed), R"(a\b"c\d)") << "as httpx and Go do";
}

TEST(Multipart, RefusesOtherBodies) {
  const auto refusal = [](std::string_view body) { return parts_of(body, 5).back().bytes; };
  EXPECT_THAT(refusal("--b\r\nbad\r\n\r\nx\r\n--b--"), HasSubstr("not a header field"));
  EXPECT_THAT(refusal("--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--"), HasSubstr("no Content-Disposition"));
  EXPECT_THAT(refusal("--b\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\nx\r\n--b--"), HasSubstr("no name"));
  EXPECT_THAT(refusal("--bc\r\n"), HasSubstr("followed by other bytes"));
  EXPECT_THAT(refusal("--b\r\nA: " + std::string(9000, 'x')), HasSubstr("8192 bytes"));
  std::string many;
  for (std::size_t i = 0; i <= MultipartParser::kMostParts; ++i) {
    many += "--b\r\nContent-Disposition: form-data; name=n\r\n\r\n\r\n";
  }
  EXPECT_THAT(refusal(many), HasSubstr("more than 1000 parts"));
}

TEST(MultipartBoundary, IsReadFromTheContentType) {
  const auto boundary = [](std::string_view type) { return multipart_boundary(type).value().value_or("none"); };
  EXPECT_EQ(boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(boundary("Multipart/Form-Data;charset=utf-8;  BOUNDARY=\"a b\" "), "a b");
  EXPECT_EQ(boundary("application/json; boundary=abc"), "none");
  EXPECT_EQ(boundary(""), "none");
  EXPECT_EQ(multipart_boundary("multipart/form-data").error().message, "Missing boundary in multipart.");
  EXPECT_FALSE(multipart_boundary("multipart/form-data; boundary="));
  EXPECT_FALSE(multipart_boundary("multipart/form-data; boundary=" + std::string(201, 'x')));
}

}  // namespace
}  // namespace skiff::protocol
