#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "protocol/json/schema.hpp"

/// The frames that a worker sends (runtime/api/code/worker.py). They come from the sandbox: nothing in them is trusted.
namespace skiff::runtime::api {

/// A value that the code has shown, in each form that it offers.
struct CodeResult {
  std::optional<std::string> text, html, markdown, svg, png, jpeg, pdf, latex, javascript;
  std::optional<nlohmann::json> json, data, chart, extra;
  bool is_main_result = false;

  static constexpr std::string_view kSchemaName = "CodeResult";
  static constexpr auto fields = std::tuple{
      protocol::field("text", &CodeResult::text, "Its repr"),
      protocol::field("html", &CodeResult::html, "HTML"),
      protocol::field("markdown", &CodeResult::markdown, "Markdown"),
      protocol::field("svg", &CodeResult::svg, "SVG"),
      protocol::field("png", &CodeResult::png, "PNG, in base64"),
      protocol::field("jpeg", &CodeResult::jpeg, "JPEG, in base64"),
      protocol::field("pdf", &CodeResult::pdf, "PDF, in base64"),
      protocol::field("latex", &CodeResult::latex, "LaTeX"),
      protocol::field("javascript", &CodeResult::javascript, "JavaScript"),
      protocol::field("json", &CodeResult::json, "JSON"),
      protocol::field("data", &CodeResult::data, "The first 1000 rows of a DataFrame, by column"),
      protocol::field("chart", &CodeResult::chart, "The numbers of a figure with one plot"),
      protocol::field("extra", &CodeResult::extra, "Other media types"),
      protocol::field("is_main_result", &CodeResult::is_main_result, "The value of the last expression",
                      {.optional = true}),
  };
};

struct CodeError {
  std::string name;
  std::string value;
  std::string traceback;

  static constexpr std::string_view kSchemaName = "CodeError";
  static constexpr auto fields = std::tuple{
      protocol::field("name", &CodeError::name, "Its class, such as ValueError"),
      protocol::field("value", &CodeError::value, "Its message"),
      protocol::field("traceback", &CodeError::traceback, "Where it came from"),
  };
};

/// One line of a worker: one of `result`, `error` and `end`.
struct CodeFrame {
  std::uint64_t id = 0;  ///< of the request
  std::optional<CodeResult> result;
  std::optional<CodeError> error;
  std::optional<std::uint64_t> end;  ///< the code has ended; the number of calls so far

  static constexpr auto fields = std::tuple{
      protocol::field("id", &CodeFrame::id, ""),
      protocol::field("result", &CodeFrame::result, ""),
      protocol::field("error", &CodeFrame::error, ""),
      protocol::field("end", &CodeFrame::end, ""),
  };
};

/// Most values in one frame.
inline constexpr std::size_t kMostValues = 500'000;

/// Errors: those of protocol::decode; payload_too_large for more than `kMostValues`.
[[nodiscard]] Result<CodeFrame> read_code_frame(std::string_view line);

/// Cuts the bytes of a worker into lines.
class CodeLines {
 public:
  static constexpr std::size_t kMost = std::size_t{8} << 20U;  ///< bytes of one line

  void add(std::string_view bytes) { bytes_ += bytes; }
  /// The next whole line without its end; nothing: it has not come yet. Errors: payload_too_large.
  [[nodiscard]] Result<std::optional<std::string>> next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;   ///< the next line begins here
  std::size_t looked_ = 0;  ///< these bytes hold no end of a line
};

}  // namespace skiff::runtime::api
