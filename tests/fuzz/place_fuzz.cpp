#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "container/serve/gateway/destination.hpp"
#include "container/serve/gateway/preview.hpp"
#include "protocol/http/parser.hpp"

namespace {

using namespace skiff;
using namespace skiff::container::serve;

constexpr std::string_view kDomain = "b.test";

void check(bool holds) {
  if (!holds) std::abort();
}

protocol::HttpRequest request_for(std::string_view host, std::string_view target) {
  const std::string head = "GET " + std::string{target} + " HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n";
  auto request = protocol::parse_request_head(head, head.size());
  check(request.has_value());
  return std::move(*request);
}

}  // namespace

/// Where a request goes is written in one way: what was understood, said again by a host, is understood as the same. No
/// request but one with a signed token is let in by a preview.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto previews = Previews::create({std::string(32, 'k')}, "t1");
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto end = protocol::HeadScanner{{.header_bytes = 4096, .target_bytes = 4096}}.scan(bytes);
  if (!end || *end == 0) return 0;
  const auto request = protocol::parse_request_head(bytes.substr(0, *end), 4096);
  if (!request) return 0;
  const auto found = destination_of(*request, kDomain);
  if (!found || !*found) return 0;
  const Destination& destination = **found;
  check(destination.port != 0 && !destination.sandbox.empty() && destination.sandbox.size() <= 63);
  check(std::ranges::all_of(destination.sandbox,
                            [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }));
  const std::string host = host_of(destination.sandbox, destination.port, kDomain);
  if (host.find('.') <= 63) {
    const auto again = destination_of(request_for(host, "/"), kDomain);
    check(again && *again && (*again)->sandbox == destination.sandbox && (*again)->port == destination.port);
  }
  const auto shown = previews->shown(*request, destination, true, WallTime{});
  check(!shown || !*shown);

  const auto target = target_at(*request, destination);
  if (!target) return 0;
  check(target->starts_with('/'));
  const std::string kept = without_preview(*target);
  check(kept == without_preview(kept) && kept.size() <= target->size());
  check(!request_for("x", kept).target.parameter("skiff-preview"));
  return 0;
}
