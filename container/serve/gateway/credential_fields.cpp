#include "container/serve/gateway/credential_fields.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ranges>
#include <string>
#include <vector>

#include "container/serve/gateway/credential_form.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::array<std::string_view, 2> kAlways{"X-API-Key", "X-Skiff-Token"};
/// The fields in which clients of E2B show the access token.
constexpr std::array<std::string_view, 2> kAccessTokenFields{"X-Access-Token", "E2B-Traffic-Access-Token"};
constexpr std::string_view kCookieField = "Cookie";
constexpr std::string_view kClearSiteData = "Clear-Site-Data";

bool is_same_name(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, plain, plain);
}

std::string_view bare_part(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

bool is_session(std::string_view cookie) {
  const std::string_view name = bare_part(cookie.substr(0, cookie.find('=')));
  return name == kSessionCookie || name == kSecureSessionCookie;
}

/// Removes only the credential's cookie: pages of other sandboxes below the domain can set cookies for all of them.
std::string plain_cookies(std::string_view field) {
  std::string kept;
  for (const auto& part : std::views::split(field, ';')) {
    const std::string_view one = bare_part({part.begin(), part.end()});
    if (!one.empty() && !is_session(one) && !shows_credential(one)) kept.append(kept.empty() ? "" : "; ").append(one);
  }
  return kept;
}

/// Browsers also send a cookie without a name, whose value then looks like a name and a value (RFC 6265bis, 5.6).
void keep_session(protocol::Headers& answer) {
  constexpr std::string_view kSetCookie = "Set-Cookie";
  const auto names_session = [](std::string_view set) { return set.substr(0, set.find(';')).contains(kSessionCookie); };
  std::vector<std::string> kept;
  bool found = false;
  for (const auto [name, value] : answer) {
    if (!protocol::same_text(name, kSetCookie)) continue;
    found = found || names_session(value);
    if (!names_session(value)) kept.emplace_back(value);
  }
  if (!found) return;
  answer.remove(kSetCookie);
  for (const std::string& one : kept) answer.add(kSetCookie, one);
}

void remove_from_cookies(protocol::Headers& fields) {
  std::vector<std::string> kept;
  for (const auto [name, value] : fields) {
    if (protocol::same_text(name, kCookieField)) kept.push_back(plain_cookies(value));
  }
  fields.remove(kCookieField);
  for (const std::string& cookies : kept) {
    if (!cookies.empty()) fields.add(kCookieField, cookies);
  }
}

}  // namespace

bool shows_credential(std::string_view value) {
  if (holds_key(value)) return true;
  value = value.substr(0, value.find_last_not_of(kBlanks) + 1);
  const std::size_t blank = value.find_last_of(kBlanks);
  return is_account_token(blank == std::string_view::npos ? value : value.substr(blank + 1));
}

void remove_credentials(protocol::Headers& fields, bool keeps_access_token) {
  remove_from_cookies(fields);
  std::vector<std::string> names;
  for (const auto [name, value] : fields) {
    const bool is_named = std::ranges::any_of(kAlways, [&](std::string_view one) { return is_same_name(name, one); });
    const auto is_this = [&](std::string_view one) { return is_same_name(name, one); };
    const auto is_exactly = [&](std::string_view one) { return protocol::same_text(name, one); };
    const bool is_access_token = std::ranges::any_of(kAccessTokenFields, is_this);
    const bool stays = keeps_access_token && std::ranges::any_of(kAccessTokenFields, is_exactly);
    if (is_named || (is_access_token && !stays) || shows_credential(value)) names.emplace_back(name);
  }
  for (const std::string& name : names) fields.remove(name);
}

void keep_cookies_of_others(protocol::Headers& answer) {
  keep_session(answer);
  if (!answer.contains(kClearSiteData)) return;
  std::string kept;
  const auto keep = [&kept](std::string_view what) { kept.append(kept.empty() ? "" : ", ").append(what); };
  for (const auto [name, value] : answer) {
    if (!protocol::same_text(name, kClearSiteData)) continue;
    for (const auto& part : std::views::split(value, ',')) {
      const std::string_view one = bare_part({part.begin(), part.end()});
      if (one.contains('*')) keep(R"("cache", "storage", "executionContexts")");
      if (!one.contains('*') && !protocol::same_text(one, R"("cookies")") && !one.empty()) keep(one);
    }
  }
  answer.remove(kClearSiteData);
  if (!kept.empty()) answer.add(kClearSiteData, kept);
}

void keep_from_running(protocol::Headers& answer) {
  keep_cookies_of_others(answer);
  // A browser applies each of several policies.
  answer.add("Content-Security-Policy", "sandbox");
  answer.set("X-Content-Type-Options", "nosniff");
}

void keep_to_content(protocol::Headers& answer) {
  constexpr std::array<std::string_view, 14> kOfTheOrigin{"Set-Cookie",
                                                          "Clear-Site-Data",
                                                          "Content-Security-Policy",
                                                          "Content-Security-Policy-Report-Only",
                                                          "Cross-Origin-Resource-Policy",
                                                          "Referrer-Policy",
                                                          "X-Content-Type-Options",
                                                          "X-Frame-Options",
                                                          "Service-Worker-Allowed",
                                                          "Strict-Transport-Security",
                                                          "Location",
                                                          "Refresh",
                                                          "Link",
                                                          "Alt-Svc"};
  for (const std::string_view name : kOfTheOrigin) answer.remove(name);
}

}  // namespace skiff::container::serve
