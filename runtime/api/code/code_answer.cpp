#include "runtime/api/code/code_answer.hpp"

#include <algorithm>
#include <utility>

#include "protocol/json/schema.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/code/contexts.hpp"

namespace skiff::runtime::api {

/// Adds a line: `object`, with the type as its first member.
void CodeLinesAnswer::add(std::string_view type, std::string_view object) {
  text_ += R"({"type":")";
  text_ += type;
  text_ += object.size() > 2 ? "\"," : "\"";
  text_ += object.substr(1);
  text_ += '\n';
}

void CodeLinesAnswer::began(const CodeContext& context, bool fresh) {
  if (form_ == Form::e2b) return;
  std::string object{'{'};
  protocol::append_json_text(object, "context", context.id());
  protocol::append_json_flag(object, "fresh", fresh);
  add("started", object + '}');
}

void CodeLinesAnswer::output(sessions::Stream stream, std::string_view text, WallTime time) {
  std::string object{'{'};
  protocol::append_json_text(object, "text", text);
  protocol::append_json_text(object, "timestamp", rfc3339(time));
  add(stream == sessions::Stream::out ? "stdout" : "stderr", object + '}');
}

void CodeLinesAnswer::result(CodeResult result, std::size_t /*bytes*/) {
  // E2B's server gives a text without its quotes.
  if (auto& text = result.text;
      form_ == Form::e2b && text && text->size() > 1 && text->starts_with('\'') && text->ends_with('\'')) {
    text = text->substr(1, text->size() - 2);
  }
  add("result", protocol::to_json(result));
}

void CodeLinesAnswer::error(CodeError error) {
  add("error", protocol::to_json(error));
}

Task<Result<>> CodeLinesAnswer::flush(bool quiet) {
  if (text_.empty() && quiet) add("keepalive", "{}");
  if (text_.empty()) co_return Result<>{};
  if (!std::exchange(begun_, true)) {
    protocol::HttpResponse head{200, {{"Content-Type", "application/x-ndjson"}, {"Cache-Control", "no-store"}}};
    SKIFF_CO_TRY_VOID(co_await http_.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write));
  }
  auto sent = co_await http_.write(text_);
  text_.clear();
  co_return sent;
}

Task<Result<>> CodeLinesAnswer::finish(CodeEnd end) {
  std::string object{'{'};
  protocol::append_json_number(object, "execution_count", end.count);
  if (form_ == Form::own) protocol::append_json_text(object, "cause", end.cause);
  add(form_ == Form::own ? "end" : "number_of_executions", object + '}');
  SKIFF_CO_TRY_VOID(co_await flush(false));
  co_return co_await http_.finish();
}

void CodeCollector::began(const CodeContext& context, bool fresh) {
  answer_.context = context.id();
  answer_.fresh = fresh;
}

void CodeCollector::output(sessions::Stream stream, std::string_view text, WallTime /*time*/) {
  std::string& into = stream == sessions::Stream::out ? answer_.out : answer_.err;
  std::string_view kept = text.substr(0, max_output_ - std::min(max_output_, into.size()));
  if (kept.size() < text.size()) {
    answer_.truncated = true;
    kept = kept.substr(0, protocol::valid_prefix(kept));
  }
  into += kept;
}

void CodeCollector::result(CodeResult result, std::size_t bytes) {
  result_bytes_ += bytes;
  if (result_bytes_ > kMostOfResults) {
    answer_.truncated = true;
  } else {
    answer_.results.push_back(std::move(result));
  }
}

void CodeCollector::error(CodeError error) {
  answer_.error = std::move(error);
}

Task<Result<>> CodeCollector::flush(bool quiet) {
  if (!quiet || http_ == nullptr) co_return Result<>{};
  if (!std::exchange(begun_, true)) {
    protocol::HttpResponse head{200, {{"Content-Type", "application/json"}}};
    SKIFF_CO_TRY_VOID(co_await http_->start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write));
  }
  co_return co_await http_->write(" ");
}

std::string CodeCollector::text(const CodeEnd& end) {
  answer_.execution_count = end.count;
  answer_.cause = end.cause;
  return protocol::to_json(answer_);
}

}  // namespace skiff::runtime::api
