#include "runtime/egress/names/dns_message.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace skiff::runtime::egress {
namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kLongestName = 255;  ///< as it is in a message
constexpr std::size_t kLongestLabel = 63;
constexpr unsigned kAnswerFlag = 0x8000;
constexpr unsigned kWantsRecursion = 0x0100;
/// Some clients take an empty answer without it for that of a broken server.
constexpr unsigned kHasRecursion = 0x0080;
constexpr unsigned kOperation = 0x7800;
constexpr unsigned kClassInternet = 1;
constexpr unsigned kNameOfQuestion = 0xC000 | kHeader;
constexpr unsigned kAddressSize = 4;

unsigned number_at(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t place) { return unsigned{static_cast<unsigned char>(bytes[place])}; };
  return byte(at) << 8U | byte(at + 1);
}

void append(std::string& to, std::initializer_list<unsigned> numbers) {
  for (const unsigned number : numbers) {
    to += static_cast<char>(number >> 8U & 0xFFU);
    to += static_cast<char>(number & 0xFFU);
  }
}

bool is_of_a_host_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Reads the name at the start of a question. Returns its size there, 0 for none that is whole: the name of a question
/// has nothing before it that it could point to.
std::size_t read_name(std::string_view bytes, std::string& name) {
  bool is_host_name = true;
  std::size_t at = 0;
  while (at < std::min(bytes.size(), kLongestName)) {
    const std::size_t size = static_cast<unsigned char>(bytes[at++]);
    if (size == 0) {
      if (!is_host_name) name.clear();
      return at;
    }
    if (size > kLongestLabel || size > bytes.size() - at) return 0;
    if (!name.empty()) name += '.';
    for (const char c : bytes.substr(at, size)) {
      name += lower(c);
      is_host_name = is_host_name && is_of_a_host_name(lower(c));
    }
    at += size;
  }
  return 0;
}

}  // namespace

std::optional<DnsQuery> read_dns_query(std::string_view message) {
  if (message.size() < kHeader) return std::nullopt;
  const unsigned flags = number_at(message, 2);
  if ((flags & kAnswerFlag) != 0) return std::nullopt;
  DnsQuery query{.id = static_cast<std::uint16_t>(number_at(message, 0)),
                 .wants_recursion = (flags & kWantsRecursion) != 0,
                 .fault = DnsCode::malformed};
  if ((flags & kOperation) != 0) {
    query.fault = DnsCode::unsupported;
    return query;
  }
  const bool is_one_question = number_at(message, 4) == 1 && number_at(message, 6) == 0 && number_at(message, 8) == 0;
  if (!is_one_question || message.size() > kLargestQuery) return query;
  const std::string_view rest = message.substr(kHeader);
  std::string name;
  const std::size_t size = read_name(rest, name);
  if (size == 0 || rest.size() < size + 4) return query;
  query.question = rest.substr(0, size + 4);
  query.name = std::move(name);
  query.type = static_cast<std::uint16_t>(number_at(rest, size));
  query.fault = number_at(rest, size + 2) == kClassInternet ? DnsCode::ok : DnsCode::unsupported;
  return query;
}

std::string dns_answer(const DnsQuery& query, DnsCode code, std::optional<DnsAddress> address) {
  std::string answer;
  const unsigned flags =
      kAnswerFlag | (query.wants_recursion ? kWantsRecursion : 0) | kHasRecursion | static_cast<unsigned>(code);
  append(answer, {query.id, flags, query.question.empty() ? 0U : 1U, address ? 1U : 0U, 0, 0});
  answer += query.question;
  if (!address) return answer;
  const auto seconds = static_cast<std::uint32_t>(address->time_to_live.count());
  append(answer, {kNameOfQuestion, kDnsIpv4, kClassInternet, seconds >> 16U, seconds & 0xFFFFU, kAddressSize,
                  address->address >> 16U, address->address & 0xFFFFU});
  return answer;
}

}  // namespace skiff::runtime::egress
