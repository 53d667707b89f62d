#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/http/server/exchange.hpp"
#include "runtime/api/code/code_requests.hpp"
#include "runtime/api/code/worker.hpp"

namespace skiff::runtime::api {

/// Sends what code shows as lines of JSON. Each has a `type`: `started`, `stdout` and `stderr` (`text`, `timestamp`),
/// `result` (a CodeResult), `error` (a CodeError), `end`, and `keepalive`. These are E2B's lines, but that E2B has
/// `number_of_executions` and neither `started` nor `end`.
class CodeLinesAnswer final : public CodeReader {
 public:
  enum class Form : std::uint8_t { own, e2b };
  CodeLinesAnswer(protocol::HttpExchange& http, Form form) : http_{http}, form_{form} {}

  void began(const CodeContext& context, bool fresh) override;
  void output(sessions::Stream stream, std::string_view text, WallTime time) override;
  void result(CodeResult result, std::size_t bytes) override;
  void error(CodeError error) override;
  Task<Result<>> flush(bool quiet) override;
  /// The last line, and the end of the answer.
  [[nodiscard]] Task<Result<>> finish(CodeEnd end);

 private:
  void add(std::string_view type, std::string_view object);

  protocol::HttpExchange& http_;
  const Form form_;
  std::string text_;
  bool begun_ = false;
};

/// Keeps what code shows for one answer.
class CodeCollector final : public CodeReader {
 public:
  static constexpr std::size_t kMostOfResults = std::size_t{16} << 20U;  ///< bytes

  /// Without `http` nothing is sent while the code runs.
  CodeCollector(protocol::HttpExchange* http, std::size_t max_output_bytes)
      : http_{http}, max_output_{max_output_bytes} {}

  void began(const CodeContext& context, bool fresh) override;
  void output(sessions::Stream stream, std::string_view text, WallTime time) override;
  void result(CodeResult result, std::size_t bytes) override;
  void error(CodeError error) override;
  Task<Result<>> flush(bool quiet) override;

  /// White space was sent, so that no proxy closes the connection as idle.
  [[nodiscard]] bool begun() const noexcept { return begun_; }
  [[nodiscard]] std::string text(const CodeEnd& end);

 private:
  protocol::HttpExchange* http_;
  const std::size_t max_output_;
  CodeAnswer answer_;
  std::size_t result_bytes_ = 0;
  bool begun_ = false;
};

}  // namespace skiff::runtime::api
