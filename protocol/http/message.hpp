#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/http/target.hpp"

namespace skiff::protocol {

/// Header fields in order, stored as they go on the wire. Names compare without case. Control characters in a value,
/// which could split a message, become spaces, so no value that a client chose can forge a header.
class Headers {
 public:
  struct Field {
    std::string_view name;
    std::string_view value;
  };
  class Iterator;

  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

  void add(std::string_view name, std::string_view value);
  /// Replaces all fields of that name.
  void set(std::string_view name, std::string_view value);
  void remove(std::string_view name);
  void append(const Headers& others);
  void clear() noexcept;

  /// Returns the first value, or nothing. Views are valid until the next change.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
  /// Returns the first value, or an empty text.
  [[nodiscard]] std::string_view get(std::string_view name) const noexcept {
    return find(name).value_or(std::string_view{});
  }
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name).has_value(); }
  [[nodiscard]] std::size_t count(std::string_view name) const noexcept;
  /// Returns true if a field of that name holds `token` in its comma-separated list, without case.
  [[nodiscard]] bool has_token(std::string_view name, std::string_view token) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] Field operator[](std::size_t index) const noexcept;
  [[nodiscard]] Iterator begin() const noexcept;
  [[nodiscard]] Iterator end() const noexcept;

  /// Returns "Name: value\r\n" for each field, without the empty line.
  [[nodiscard]] std::string_view wire() const noexcept { return wire_; }

 private:
  struct Entry {
    std::uint32_t start;
    std::uint32_t name_size;
    std::uint32_t value_size;
  };
  std::string wire_;
  std::vector<Entry> entries_;
};

class Headers::Iterator {
 public:
  using value_type = Field;
  using difference_type = std::ptrdiff_t;
  Iterator() = default;
  Iterator(const Headers* headers, std::size_t index) : headers_{headers}, index_{index} {}
  Field operator*() const noexcept { return (*headers_)[index_]; }
  Iterator& operator++() noexcept {
    ++index_;
    return *this;
  }
  Iterator operator++(int) noexcept { return {headers_, index_++}; }
  bool operator==(const Iterator&) const = default;

 private:
  const Headers* headers_ = nullptr;
  std::size_t index_ = 0;
};

/// Compares ASCII letters without case.
[[nodiscard]] bool same_text(std::string_view a, std::string_view b) noexcept;

/// How the end of a body is found.
struct BodyFraming {
  enum class Kind : unsigned char { none, length, chunked, until_close };
  Kind kind = Kind::none;
  std::uint64_t length = 0;  ///< for Kind::length
};

/// The head of a request, checked and split.
struct HttpRequest {
  std::string method;  ///< a token, as sent ("GET")
  std::string target_text;
  Target target;
  unsigned version = 11;  ///< 10 or 11
  Headers headers;
  std::string host;  ///< the Host field, which equals the host of an absolute-form target
  BodyFraming body;
  bool keep_alive = true;  ///< the client wants to keep the connection
};

/// The head of a response that a client received.
struct HttpResponseHead {
  unsigned status = 0;
  std::string reason;
  unsigned version = 11;
  Headers headers;
  BodyFraming body;
  bool keep_alive = true;
};

/// A whole response. The sender adds Content-Length, Date, Server and Connection.
struct HttpResponse {
  unsigned status = 200;
  Headers headers = {};
  std::string body = {};
};

/// Returns "Not Found"; "Unknown" for a status that no RFC defines.
[[nodiscard]] std::string_view reason_phrase(unsigned status) noexcept;

/// Returns "HTTP/1.1 101 Switching Protocols\r\n", the fields, and the empty line.
[[nodiscard]] std::string serialize_head(unsigned status, const Headers& headers);
/// Returns "GET /x HTTP/1.1\r\n", the fields, and the empty line.
[[nodiscard]] std::string serialize_request_head(std::string_view method, std::string_view target,
                                                 const Headers& headers);

}  // namespace skiff::protocol
