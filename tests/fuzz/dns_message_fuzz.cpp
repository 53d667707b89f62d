#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/egress/names/dns_message.hpp"

/// A name has no other characters than those of host names, what is asked is part of the message, and an answer is
/// never a query again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skiff::runtime::egress;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto query = read_dns_query(bytes);
  if (!query) return 0;
  if (query->name.size() > 253 || bytes.find(query->question) == std::string_view::npos) std::abort();
  if (query->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") != std::string::npos) std::abort();
  if (query->fault == DnsCode::ok && query->question.empty()) std::abort();
  const std::string answer =
      dns_answer(*query, query->fault, DnsAddress{.address = 1, .time_to_live = std::chrono::seconds{1}});
  if (answer.size() > 512 || read_dns_query(answer)) std::abort();
  return 0;
}
