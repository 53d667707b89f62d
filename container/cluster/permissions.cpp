#include "container/cluster/permissions.hpp"

#include <utility>

#include "base/async/in_parallel.hpp"

namespace skiff::container {
namespace {

/// Some eighty reviews take a few rounds.
constexpr std::size_t kReviewsAtOnce = 16;

kube::Permission permission_of(const std::string& verb, const ApiRule& rule, const std::string& namespace_name) {
  const std::size_t slash = rule.resource.find('/');
  return {.verb = verb,
          .group = rule.group,
          .resource = rule.resource.substr(0, slash),
          .subresource = slash == std::string::npos ? "" : rule.resource.substr(slash + 1),
          .namespace_name = namespace_name,
          .name = rule.name};
}

struct RightQuestion {
  std::string words;
  kube::Permission permission;
  kube::Outcome<bool> allowed = false;
};

Task<> ask_right(kube::Client* client, RightQuestion* question) {
  question->allowed = co_await client->allowed(question->permission);
}

}  // namespace

std::string right_words(const std::string& verb, const ApiRule& rule) {
  return verb + " " + rule.resource + (rule.group.empty() ? "" : "." + rule.group) +
         (rule.name.empty() ? "" : " " + rule.name);
}

Task<kube::Outcome<std::vector<std::string>>> missing_rights(kube::Client* client, std::vector<ApiRule> rules,
                                                             std::string namespace_name) {
  std::vector<RightQuestion> questions;
  for (const ApiRule& rule : rules) {
    for (const std::string& verb : rule.verbs) {
      questions.push_back({.words = right_words(verb, rule), .permission = permission_of(verb, rule, namespace_name)});
    }
  }
  co_await in_parallel(questions.size(), kReviewsAtOnce,
                       [&](std::size_t index) { return ask_right(client, &questions[index]); });
  std::vector<std::string> missing;
  for (RightQuestion& question : questions) {
    if (!question.allowed) co_return std::unexpected{std::move(question.allowed.error())};
    if (!*question.allowed) missing.push_back(std::move(question.words));
  }
  co_return missing;
}

}  // namespace skiff::container
