#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "container/agent/client.hpp"

namespace skiff::container {

class EventStream;

/// The Model Context Protocol over stdio, in front of an agent that speaks it over HTTP: messages are lines, one JSON
/// object each. The agent's notifications are passed on as they come; apart from them only answers to the client's own
/// requests pass. Reactor thread only.
class McpBridge {
 public:
  static constexpr std::size_t kMostRequests = 64;  ///< most requests under way; further ones are refused
  static constexpr std::size_t kLongestLine = std::size_t{4} << 20U;

  /// Finds out how to reach the agent; the first message calls it.
  using Bring = std::function<Task<Result<Endpoint>>()>;
  /// Takes a line for the client, with its newline.
  using Write = std::function<void(std::string_view line)>;

  /// `notice` is put before the instructions that a model gets; it may be empty.
  McpBridge(Executor executor, Bring bring, Write write, std::string notice = {});
  ~McpBridge();
  McpBridge(const McpBridge&) = delete;
  McpBridge& operator=(const McpBridge&) = delete;

  /// Takes one line of the client, without its newline. A line longer than `kLongestLine` is refused, and may be cut.
  void take(std::string_view line);
  /// Waits until every request has its answer, except requests that only listen.
  [[nodiscard]] Task<> idle();
  /// Ends all requests and the session with the agent. Call it before the object is destroyed.
  [[nodiscard]] Task<> close();

 private:
  struct Request;
  [[nodiscard]] Task<> forward(std::shared_ptr<Request> request);
  [[nodiscard]] Task<Result<>> exchange(std::shared_ptr<Request> request);
  /// Passes on the agent's response to a message: none, one answer or a stream of messages.
  [[nodiscard]] Task<Result<>> relay(std::shared_ptr<Request> request, protocol::HttpResponseHead head);
  /// Passes on messages until the stream ends; true when the request's answer was among them.
  [[nodiscard]] Task<Result<bool>> relay_events(AgentClient* agent, EventStream* events, std::string id);
  [[nodiscard]] Task<Result<bool>> resume(std::shared_ptr<Request> request, EventStream* events);
  [[nodiscard]] Task<> hear_news();
  [[nodiscard]] Task<> stay_in_use();
  void cancel(const nlohmann::json& message);
  [[nodiscard]] static bool belongs_to_session(const Request& request);
  /// True while an `initialize` is under way.
  [[nodiscard]] bool is_greeting() const;
  [[nodiscard]] Task<Result<>> ready();
  [[nodiscard]] Task<> bring_up();
  [[nodiscard]] protocol::Headers fields(const Request* request) const;
  void answer_with(const Request& request, const Error& error);
  /// Writes the answer of a request with the request's own id, and with no members that the agent may have added.
  void say_answer(const Request& request, const nlohmann::json& answer);
  void say(const nlohmann::json& message);

  Executor executor_;
  const Bring bring_;
  const Write write_;
  const std::string notice_;
  TaskGroup tasks_;
  Event changed_;
  std::optional<Result<Endpoint>> endpoint_;
  bool bringing_ = false;
  std::map<std::string, std::shared_ptr<Request>>
      requests_;  ///< requests that wait for an answer, by their ids as JSON
  std::string session_;
  std::string revision_;
};

}  // namespace skiff::container
