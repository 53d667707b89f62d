#include "protocol/net/client_hello.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace skiff::protocol {
namespace {

constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kMessageHeader = 4;
constexpr std::size_t kLongestRecord = 16 * 1024;
constexpr unsigned kHandshake = 22;
constexpr unsigned kClientHello = 1;
constexpr unsigned kTls = 3;
constexpr unsigned kServerName = 0;
constexpr std::size_t kRandom = 32;
constexpr std::size_t kLongestSession = 32;
constexpr std::size_t kLongestName = 253;

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// Takes numbers and texts with their lengths from the front of a message.
class Parts {
 public:
  explicit Parts(std::string_view text) : rest_{text} {}

  std::optional<std::size_t> number(std::size_t bytes) {
    if (rest_.size() < bytes) return std::nullopt;
    std::size_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8U | byte_at(rest_, i);
    rest_.remove_prefix(bytes);
    return value;
  }
  std::optional<std::string_view> text(std::size_t size) {
    if (rest_.size() < size) return std::nullopt;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  /// A text behind its length of so many bytes.
  std::optional<std::string_view> counted(std::size_t bytes) {
    const auto size = number(bytes);
    return size ? text(*size) : std::nullopt;
  }
  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  });
}

}  // namespace

ClientHelloReader::State ClientHelloReader::refuse(std::string_view why) {
  why_ = why;
  name_.clear();
  return state_ = State::wrong;
}

ClientHelloReader::State ClientHelloReader::add(std::string_view bytes) {
  while (state_ == State::incomplete && !bytes.empty()) {
    if (in_record_ == 0) {
      const std::size_t more = std::min(kRecordHeader - header_.size(), bytes.size());
      header_ += bytes.substr(0, more);
      bytes.remove_prefix(more);
      taken_ += more;
      if (byte_at(header_, 0) != kHandshake) return refuse("this is not TLS");
      if (header_.size() > 1 && byte_at(header_, 1) != kTls) return refuse("this is not TLS");
      if (header_.size() < kRecordHeader) break;
      in_record_ = byte_at(header_, 3) << 8U | byte_at(header_, 4);
      header_.clear();
      if (in_record_ == 0 || in_record_ > kLongestRecord) return refuse("a TLS record has a wrong length");
      continue;
    }
    const std::size_t more = std::min(in_record_, bytes.size());
    message_ += bytes.substr(0, more);
    bytes.remove_prefix(more);
    in_record_ -= more;
    taken_ += more;
    if (read_message() != State::incomplete) return state_;
  }
  if (state_ == State::incomplete && taken_ > kMostBytes) return refuse("the ClientHello has too many records");
  return state_;
}

ClientHelloReader::State ClientHelloReader::read_message() {
  if (byte_at(message_, 0) != kClientHello) return refuse("the first message is not a ClientHello");
  if (message_.size() < kMessageHeader) return state_;
  Parts parts{message_};
  (void)parts.number(1);
  const std::size_t size = parts.number(3).value_or(0);
  if (size > kLongest) return refuse("the ClientHello is too long");
  if (message_.size() < kMessageHeader + size) return state_;
  if (message_.size() > kMessageHeader + size || in_record_ > 0) {
    return refuse("the record of the ClientHello has more bytes than its message");
  }
  const auto version = parts.number(2);
  const auto random = parts.text(kRandom);
  const auto session = parts.counted(1);
  const auto ciphers = parts.counted(2);
  const auto compressions = parts.counted(1);
  const auto extensions = parts.counted(2);
  const bool is_whole = version && random && session && ciphers && compressions && extensions && parts.empty();
  if (!is_whole || *version >> 8U != kTls || session->size() > kLongestSession || ciphers->empty() ||
      ciphers->size() % 2 != 0 || compressions->empty()) {
    return refuse("the ClientHello is malformed or has no extensions");
  }
  return read_extensions(*extensions);
}

ClientHelloReader::State ClientHelloReader::read_extensions(std::string_view extensions) {
  Parts parts{extensions};
  std::set<std::size_t> seen;
  std::optional<std::string_view> names;
  while (!parts.empty()) {
    const auto type = parts.number(2);
    const auto content = parts.counted(2);
    if (!type || !content) return refuse("an extension of the ClientHello is malformed");
    if (!seen.insert(*type).second) return refuse("an extension of the ClientHello is repeated");
    if (*type == kServerName) names = content;
  }
  if (!names) return refuse("the ClientHello names no server (SNI)");
  return read_names(*names);
}

ClientHelloReader::State ClientHelloReader::read_names(std::string_view list) {
  Parts outer{list};
  const auto names = outer.counted(2);
  if (!names || !outer.empty()) return refuse("the server name of the ClientHello is malformed");
  Parts parts{*names};
  const auto type = parts.number(1);
  const auto name = parts.counted(2);
  if (!type || *type != 0 || !name) return refuse("the server name of the ClientHello is malformed");
  if (!parts.empty()) return refuse("the ClientHello names several servers");
  if (!is_name(*name)) return refuse("the server name of the ClientHello is not a DNS name");
  name_ = *name;
  return state_ = State::complete;
}

}  // namespace skiff::protocol
