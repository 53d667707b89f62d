#include "container/egress/terminate/secret.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/small_file.hpp"
#include "container/egress/policy.hpp"
#include "container/egress/terminate/request_rule.hpp"
#include "container/host/state_directory.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/parser.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container::egress {
namespace {

constexpr std::size_t kLargestSecretFile = std::size_t{1} << 20U;
constexpr std::size_t kMostHosts = 32;
constexpr std::size_t kMostRequests = 100;
/// A shorter one would be masked where a server means something else.
constexpr std::size_t kShortest = 8;
/// A shorter placeholder could be found where nobody means it.
constexpr std::size_t kShortestPlaceholder = 16;
constexpr std::size_t kLongestPlaceholder = 256;
constexpr std::size_t kLongest = 4096;
constexpr std::string_view kPlace = "{}";
constexpr std::string_view kEnding = ".json";
/// Fields that frame or route a request, or belong to one connection.
constexpr std::array kFraming = std::to_array<std::string_view>(
    {"host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade", "expect",
     "proxy-authorization", "keep-alive", "accept-encoding", "range", "via"});

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_variable(std::string_view name) {
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Result<> check_hosts(const std::vector<std::string>& hosts) {
  if (hosts.empty() || hosts.size() > kMostHosts) {
    return fail(Errc::invalid_field, "--host: name 1 to " + std::to_string(kMostHosts) + " hosts that get the secret",
                "--host");
  }
  for (const std::string& host : hosts) {
    const auto policy = Policy::parse(std::array{host});
    if (!policy) return fail(Errc::invalid_field, "--host: " + policy.error().message, "--host");
    if (host.contains('*') || host.contains("://")) {
      return fail(Errc::invalid_field, "--host \"" + host + "\": a secret is for hosts by their whole name, with TLS",
                  "--host");
    }
  }
  return {};
}

Result<> check_field(const std::string& header, const std::string& format) {
  const bool is_framing =
      std::ranges::any_of(kFraming, [&](std::string_view one) { return protocol::same_text(one, header); });
  if (!protocol::is_token(header) || is_framing) {
    return fail(Errc::invalid_field, "--header: expected 'NAME: VALUE' with a field that frames no request",
                "--header");
  }
  const std::size_t place = format.find(kPlace);
  const bool is_whole = place != std::string::npos && format.find(kPlace, place + 1) == std::string::npos;
  if (!format.empty() && (!is_whole || !protocol::is_field_value(format))) {
    return fail(Errc::invalid_field, "--header: expected {} once, in the place of the secret", "--header");
  }
  return {};
}

Result<> check_placeholder(const Secret& secret) {
  const auto refuse = [](const std::string& what) {
    return fail(Errc::invalid_field, "--placeholder: " + what, "--placeholder");
  };
  const std::string& text = secret.placeholder;
  if (!is_variable(secret.variable)) {
    return refuse("expected VARIABLE or VARIABLE=TEXT, with a variable's name of letters, digits and _");
  }
  if (text.size() < kShortestPlaceholder || text.size() > kLongestPlaceholder || !is_visible(text)) {
    return refuse("expected a text of " + std::to_string(kShortestPlaceholder) + " to " +
                  std::to_string(kLongestPlaceholder) + " visible ASCII characters");
  }
  if (secret.value.contains(text) || text.contains(secret.value)) return refuse("it has the secret, or is in it");
  return {};
}

Result<> check_nothing_to_inject(const Secret& secret) {
  const bool is_bare = secret.format.empty() && secret.user.empty() && secret.variable.empty() &&
                       secret.placeholder.empty() && secret.value.empty() && !secret.replaces;
  if (is_bare) return {};
  return fail(Errc::invalid_field, "--no-value: omit --header, --basic and --placeholder", "--no-value");
}

}  // namespace

Result<> Secret::check() const {
  SKIFF_TRY_VOID(check_name(name));
  SKIFF_TRY_VOID(check_hosts(hosts));
  if (requests.size() > kMostRequests) {
    return fail(Errc::invalid_field, "--allow: at most " + std::to_string(kMostRequests) + " rules", "--allow");
  }
  for (const std::string& rule : requests) SKIFF_TRY_VOID(RequestRule::parse(rule));
  if (!has_value()) return check_nothing_to_inject(*this);
  SKIFF_TRY_VOID(check_field(header, format));
  if (!is_visible(user) || user.contains(':')) {
    return fail(Errc::invalid_field, "--basic: a user name has no colon and no blanks", "--basic");
  }
  if (value.size() < kShortest || value.size() > kLongest || !is_visible(value)) {
    return fail(Errc::invalid_field,
                "the secret: expected " + std::to_string(kShortest) + " to " + std::to_string(kLongest) +
                    " visible ASCII characters in one line on stdin",
                "stdin");
  }
  if (!replaces && variable.empty() && placeholder.empty()) return {};
  return check_placeholder(*this);
}

bool Secret::is_for(const Target& target) const {
  if (target.is_plain) return false;
  const auto policy = Policy::parse(hosts);
  return policy && policy->allows(target.host, target.port);
}

bool Secret::is_for(const std::string& method, const protocol::Target& path) const {
  return requests.empty() || std::ranges::any_of(requests, [&](const std::string& text) {
           const auto rule = RequestRule::parse(text);
           return rule && rule->allows(method, path);
         });
}

std::string Secret::injected() const {
  if (format.empty()) return "Basic " + protocol::encode_base64(user + ":" + value);
  std::string text = format;
  return text.replace(text.find(kPlace), kPlace.size(), value);
}

std::vector<std::string> Secret::traces() const {
  if (!has_value()) return {};
  std::vector<std::string> all{value};
  if (!replaces && format.empty()) {
    // An echo may lack the padding.
    std::string pair = protocol::encode_base64(user + ":" + value);
    pair.erase(pair.find_last_not_of('=') + 1);
    all.push_back(std::move(pair));
  }
  return all;
}

std::filesystem::path SecretStore::file(std::string_view name) const {
  return directory_ / std::string{name}.append(kEnding);
}

Result<> SecretStore::set(const Secret& secret) const {
  SKIFF_TRY_VOID(secret.check());
  if (auto made = create_private_directory(directory_); !made && made.error().code != Errc::already_exists) return made;
  SKIFF_TRY(const auto all, names());
  if (all.size() >= kMost && std::ranges::find(all, secret.name) == all.end()) {
    return fail(Errc::resource_exhausted,
                "there are " + std::to_string(kMost) + " secrets already: skiff secret rm removes one", "NAME");
  }
  std::string text = protocol::to_json(secret);
  auto written = write_private_file(file(secret.name), text);
  wipe(text);
  return written;
}

Result<Secret> SecretStore::get(std::string_view name) const {
  const auto missing = [&] {
    return fail(Errc::not_found,
                "secret \"" + std::string{name} + "\" not found: skiff secret set creates it from stdin", "NAME");
  };
  if (!check_name(name)) return missing();
  auto text = read_small_file(file(name), kLargestSecretFile);
  if (!text && text.error().code == Errc::path_not_found) return missing();
  if (!text) return std::unexpected{std::move(text.error())};
  auto secret = protocol::decode<Secret>(*text);
  wipe(*text);
  // An error of JSON could quote the file.
  const bool is_right = secret && secret->name == name && secret->check();
  if (!is_right) {
    return fail(Errc::invalid_field,
                "the file of the secret \"" + std::string{name} + "\" is damaged: skiff secret set replaces it",
                "NAME");
  }
  return secret;
}

Result<> SecretStore::remove(std::string_view name) const {
  SKIFF_TRY_VOID(check_name(name));
  if (::unlink(file(name).c_str()) == 0) return {};
  if (errno == ENOENT) return fail(Errc::not_found, "secret \"" + std::string{name} + "\" not found", "NAME");
  return std::unexpected{system_error(errno, "remove the secret \"" + std::string{name} + "\"")};
}

Result<std::vector<std::string>> SecretStore::names() const {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at{directory_, error}, end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != kEnding) continue;
    std::string name = at->path().stem().string();
    if (check_name(name)) found.push_back(std::move(name));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return std::unexpected{system_error(error.value(), "read \"" + directory_.string() + "\"")};
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace skiff::container::egress
