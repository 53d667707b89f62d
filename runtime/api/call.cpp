#include "runtime/api/call.hpp"

#include <charconv>

namespace skiff::runtime::api {

Result<std::optional<std::uint64_t>> Call::query_number(std::string_view name, std::uint64_t most) const {
  const auto text = query(name);
  if (!text) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value > most) {
    return fail(Errc::invalid_field, std::string{name} + " must be a whole number from 0 to " + std::to_string(most),
                std::string{name});
  }
  return value;
}

Result<std::optional<std::uint64_t>> Call::last_event_id() const {
  const auto text = http.request().headers.find("Last-Event-ID");
  if (!text || text->empty()) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size()) {
    return fail(Errc::invalid_field, "Last-Event-ID must be the id of an event of this stream", "Last-Event-ID");
  }
  return value;
}

Result<bool> Call::query_flag(std::string_view name) const {
  const auto text = query(name);
  if (!text || *text == "false" || *text == "0") return false;
  if (*text == "true" || *text == "1" || text->empty()) return true;
  return fail(Errc::invalid_field, std::string{name} + " must be true or false", std::string{name});
}

Result<std::shared_ptr<sessions::Session>> Call::session(std::string_view id) const {
  SKIFF_TRY_VOID(require_session(identity, id));
  return agent.registry.find(id);
}

Result<std::shared_ptr<sessions::Session>> Call::session() const {
  return session(params.empty() ? sessions::Registry::kDefault : std::string_view{params.front()});
}

Result<std::shared_ptr<sessions::Command>> Call::command() const {
  SKIFF_TRY(auto found, session());
  return found->find(params.at(1));
}

void Call::tell_ignored() {
  if (ignored.empty()) return;
  std::string text{"handling=lenient; ignored=\""};
  for (const std::string& name : ignored) {
    if (!text.ends_with('"')) text += ' ';
    for (const char c : name) {
      if (c > ' ' && c < '\x7f' && c != '"' && c != '\\') text += c;
    }
  }
  text += '"';
  http.extra_headers().set("Preference-Applied", text);
}

Task<Result<>> Call::json(unsigned status, std::string text) {
  text += '\n';
  protocol::HttpResponse response{status, {{"Content-Type", "application/json"}}, std::move(text)};
  co_return co_await http.respond(std::move(response));
}

Task<Result<>> Call::no_content() {
  protocol::HttpResponse response{204};
  co_return co_await http.respond(std::move(response));
}

bool is_for_later(Errc code) noexcept {
  return code == Errc::too_many_commands || code == Errc::too_many_sessions || code == Errc::too_many_connections ||
         code == Errc::resource_exhausted || code == Errc::egress_waiting || code == Errc::draining;
}

protocol::HttpResponse problem_response(const Error& error, std::string_view request_id,
                                        std::span<const protocol::ProblemMember> extra) {
  return {protocol::http_status(error.code),
          {{"Content-Type", protocol::kProblemType}, {"Cache-Control", "no-store"}},
          protocol::problem_json(error, request_id, extra) + '\n'};
}

}  // namespace skiff::runtime::api
