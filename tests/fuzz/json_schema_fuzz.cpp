#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "protocol/json/schema.hpp"

namespace {

using namespace skiff::protocol;

enum class Mode : std::uint8_t { wait, stream };

struct Inner {
  std::int32_t cols = 0;
  std::optional<std::uint16_t> rows;
  static constexpr auto fields =
      std::tuple{field("c", &Inner::cols, "", {.minimum = 1, .maximum = 1000}), field("r", &Inner::rows, "")};
};

struct Request {
  std::optional<std::string> id;
  std::vector<std::string> argv;
  Mode mode = Mode::wait;
  std::map<std::string, std::optional<std::string>> env;
  std::vector<Inner> sizes;
  std::chrono::milliseconds time{0};
  std::optional<std::optional<std::uint64_t>> offset;
  bool eof = false;
  nlohmann::json extra;
  static constexpr auto fields =
      std::tuple{field("id", &Request::id, "", {.text = Text::id}),
                 field("a", &Request::argv, "", {.max_items = 8, .text = Text::no_nul, .optional = true}),
                 field("m", &Request::mode, "", {.optional = true}),
                 field("e", &Request::env, "", {.keys = Text::env_name, .optional = true}),
                 field("s", &Request::sizes, "", {.optional = true}),
                 field("t", &Request::time, "", {.optional = true}),
                 field("o", &Request::offset, ""),
                 field("f", &Request::eof, "", {.optional = true}),
                 field("x", &Request::extra, "", {.optional = true})};
};

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

template <>
struct skiff::protocol::EnumNames<Mode> {
  static constexpr std::array values{EnumName{Mode::wait, "wait"}, EnumName{Mode::stream, "stream"}};
};

/// Whatever is decoded must encode to something that decodes to the same; what our parser takes, the library takes too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto value = parse_json(text)) require(nlohmann::json::accept(text));
  std::vector<std::string> ignored;
  const auto lenient = decode<Request>(text, {}, &ignored);
  const auto strict = decode<Request>(text);
  if (!strict) {
    require(!strict.error().message.empty());
    require(lenient || lenient.error().code == strict.error().code || !ignored.empty() ||
            strict.error().code == skiff::Errc::unknown_field);
    return 0;
  }
  require(lenient && ignored.empty());
  const std::string once = to_json(*strict);
  const auto again = decode<Request>(once);
  require(again && to_json(*again) == once);
  return 0;
}
