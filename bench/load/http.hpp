#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bench/load/options.hpp"

namespace skiff::bench {

/// Returns a whole request; a POST of JSON when `body` is not empty. `headers` are complete lines.
std::string request_text(const Options& options, std::string_view path, std::string_view body,
                         std::string_view headers = {});

/// Returns a call of the Connect protocol with a streamed response: JSON in an envelope, which begins with its length.
std::string connect_text(const Options& options, std::string_view path, std::string_view message);

/// Returns the head of an upload with a body of `size` bytes.
std::string upload_head(const Options& options, std::string_view path, std::uint64_t size);

/// Splits an HTTP/1.1 response that arrives in arbitrary pieces.
class ResponseParser {
 public:
  using Sink = std::function<void(std::string_view)>;

  /// Passes the body's bytes to `sink` as they come; returns how many of `data` belong to this response.
  std::size_t feed(std::string_view data, const Sink& sink);
  [[nodiscard]] bool done() const { return state_ == State::done; }
  [[nodiscard]] bool has_head() const { return state_ != State::head; }
  [[nodiscard]] int status() const { return status_; }
  /// The status line and headers, and the fields after a chunked body.
  [[nodiscard]] const std::string& head() const { return head_; }
  [[nodiscard]] const std::string& trailers() const { return line_; }
  [[nodiscard]] std::uint64_t chunks() const { return chunks_; }
  void reset();

 private:
  enum class State : std::uint8_t { head, length, chunk_size, chunk, chunk_end, trailers, done };
  void read_head();

  State state_ = State::head;
  int status_ = 0;
  std::uint64_t left_ = 0, chunks_ = 0;
  std::string head_, line_;
};

/// Returns the value of a header, whose name is in lower case; empty when it is absent.
std::string_view header_value(std::string_view head, std::string_view name);

}  // namespace skiff::bench
