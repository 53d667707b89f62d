#include "runtime/mcp/progress.hpp"

#include "base/async/deadline.hpp"
#include "protocol/json/text.hpp"

namespace skiff::runtime::mcp {

Task<> tell_progress(std::shared_ptr<Request> request, std::chrono::milliseconds total,
                     std::function<std::string()> message) {
  const auto token = request->message.progress_token();
  if (!token || token->empty()) co_return;
  const std::string begun = R"({"progressToken":)" + *token;
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    co_await pause(std::chrono::seconds{1});
    const auto passed = std::chrono::floor<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
    std::string params = begun;
    protocol::append_json_number(params, "progress", static_cast<std::uint64_t>(passed.count()));
    protocol::append_json_number(params, "total", static_cast<std::uint64_t>(std::max(total, passed).count()));
    protocol::append_json_text(params, "message", message());
    request->job->outbox->push(notification_message("notifications/progress", params + '}'));
  }
}

}  // namespace skiff::runtime::mcp
