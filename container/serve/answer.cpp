#include "container/serve/answer.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "container/kube/objects/status.hpp"
#include "container/sandbox/progress.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/json/text.hpp"

namespace skiff::container::serve {
namespace {

/// Retry-After for faults that others must fix, and for resources that others must free.
constexpr int kRetrySeconds = 10;

/// The flag that errors about rules name, and the field that clients have instead.
constexpr std::string_view kEgressFlag = "--egress";
constexpr std::string_view kEgressField = "egress";

bool is_to_be_repeated(const Error& error) {
  return error.code == Errc::quota_exceeded || error.code == Errc::cluster_unavailable ||
         error.code == Errc::resource_exhausted || failure_reason(error) == FailureReason::unschedulable;
}

}  // namespace

protocol::HttpResponse json_answer(unsigned status, std::string text) {
  text += '\n';
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
          .body = std::move(text)};
}

protocol::HttpResponse empty_answer() {
  return {.status = 204};
}

protocol::HttpResponse unreachable_answer(std::string_view sandbox, std::string_view why) {
  constexpr unsigned kStatus = 502;
  std::string text{'{'};
  protocol::append_json_text(text, "sandboxId", sandbox);
  protocol::append_json_text(text, "message", why);
  protocol::append_json_number(text, "code", kStatus);
  text += '}';
  return json_answer(kStatus, std::move(text));
}

bool is_cluster_fault(const Error& error) {
  return error.code == Errc::cluster_unavailable || error.field == kube::kClusterFault;
}

Error about_rules(Error error, std::string_view field) {
  if (error.message.starts_with(kEgressFlag)) error.message.replace(0, kEgressFlag.size(), field);
  error.field = field;
  return error;
}

Error for_tenants(const Error& error) {
  if (error.code == Errc::sandbox_failed && error.field == kEgressNotInstalled) {
    return {Errc::not_supported, error.message, std::string{kEgressField}};
  }
  if (error.field == kEgressFlag) return about_rules(error, kEgressField);
  if (!is_cluster_fault(error)) return error;
  if (error.field == reason_word(FailureReason::admission)) {
    return {Errc::cluster_unavailable, "an admission webhook of the cluster does not answer: try again later",
            error.field};
  }
  return {Errc::cluster_unavailable,
          "the cluster does not answer this server, or refuses it: try again later; the server's log says why"};
}

protocol::HttpResponse error_answer(Face face, const Error& cause, std::string_view request_id) {
  const Error error = for_tenants(cause);
  const unsigned status = protocol::http_status(error.code);
  protocol::HttpResponse answer;
  if (face == Face::e2b) {
    std::string text{'{'};
    protocol::append_json_number(text, "code", std::uint64_t{status});
    protocol::append_json_text(text, "message", error.message);
    text += '}';
    answer = json_answer(status, std::move(text));
  } else {
    answer = json_answer(status, protocol::problem_json(error, request_id));
    answer.headers.set("Content-Type", protocol::kProblemType);
  }
  if (is_to_be_repeated(error)) {
    answer.headers.set("Retry-After", std::to_string(kRetrySeconds));
  }
  if (status == 401) answer.headers.set("WWW-Authenticate", "Bearer");
  return answer;
}

}  // namespace skiff::container::serve
