#include "protocol/http/forward.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "protocol/net/address.hpp"

namespace skiff::protocol {
namespace {

constexpr std::array kOfOneConnection{"connection", "keep-alive",       "proxy-authenticate", "proxy-authorization",
                                      "te",         "proxy-connection", "transfer-encoding",  "upgrade"};

std::string normal(std::string_view name) {
  std::string text{name};
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    if (c == '_') c = '-';
  }
  return text;
}

/// Calls `each` for the members of a comma-separated list (RFC 9110, 5.6.1).
template <class Each>
void for_each_member(std::string_view list, Each each) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view member = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    member.remove_prefix(std::min(member.find_first_not_of(" \t"), member.size()));
    member = member.substr(0, member.find_last_not_of(" \t") + 1);
    if (!member.empty()) each(member);
  }
}

/// Returns all fields but those of one connection and `others`. A client may name thousands of fields in Connection and
/// send thousands, hence the binary search.
Headers without(const Headers& fields, std::initializer_list<std::string_view> others) {
  std::vector<std::string> dropped{kOfOneConnection.begin(), kOfOneConnection.end()};
  dropped.insert(dropped.end(), others.begin(), others.end());
  for (const auto [name, value] : fields) {
    if (!same_text(name, "Connection")) continue;
    for_each_member(value, [&dropped](std::string_view option) { dropped.push_back(normal(option)); });
  }
  std::ranges::sort(dropped);
  Headers kept;
  for (const auto [name, value] : fields) {
    if (!std::ranges::binary_search(dropped, normal(name))) kept.add(name, value);
  }
  return kept;
}

/// Joins the values of all fields of that name to one list, with `last` at its end.
std::string joined(const Headers& fields, std::string_view name, std::string_view last) {
  std::string list;
  const auto append = [&list](std::string_view value) {
    if (value.empty()) return;
    if (!list.empty()) list += ", ";
    list += value;
  };
  for (const auto [other, value] : fields) {
    if (same_text(other, name)) append(value);
  }
  append(last);
  return list;
}

bool has_body(const BodyFraming& body) {
  return body.kind == BodyFraming::Kind::chunked || (body.kind == BodyFraming::Kind::length && body.length > 0);
}

/// An intermediary must not add Upgrade to a request of an HTTP/1.1 client without it; HTTP/1.0 does not have it.
bool asks_for_upgrade(const HttpRequest& request) {
  return request.version >= 11 && !has_body(request.body) && request.headers.has_token("Connection", "upgrade") &&
         request.headers.contains("Upgrade");
}

void say_where_it_came_from(Headers& fields, const HttpRequest& request, const Forwarder& by) {
  const std::string via = (request.version >= 11 ? "1.1 " : "1.0 ") + std::string{by.name};
  fields.add("Via", joined(request.headers, "Via", via));
  static const Headers none;
  const Headers& given = by.first ? none : request.headers;
  const std::string chain = joined(given, "X-Forwarded-For", by.peer);
  if (!chain.empty()) fields.add("X-Forwarded-For", chain);
  const auto pass = [&](std::string_view name, std::string_view otherwise) {
    const auto said = given.find(name);
    if (said || !otherwise.empty()) fields.add(name, said.value_or(otherwise));
  };
  pass("X-Forwarded-Host", request.host);
  pass("X-Forwarded-Proto", by.scheme);
  pass("X-Forwarded-Prefix", by.prefix);
}

}  // namespace

std::string peer_host(std::string_view peer) {
  const auto address = Address::parse(peer);
  return address ? address->host() : std::string{};
}

std::string target_behind(const HttpRequest& request, int parts) {
  // Count slashes in the encoded path: escapes in the first parts have changed their length.
  std::string_view path{request.target.path};
  for (int part = 0; part < parts; ++part) path.remove_prefix(std::min(path.find('/', 1), path.size()));
  std::string target{path};
  if (target.empty()) target = "/";
  const std::string_view whole{request.target_text};
  if (const std::size_t query = whole.find('?'); query != std::string_view::npos) target += whole.substr(query);
  return target;
}

Headers forwarded_request(const HttpRequest& request, const Forwarder& by) {
  const Headers& given = request.headers;
  Headers fields = without(given, {"content-length", "expect", "forwarded", "host", "via", "x-forwarded-for",
                                   "x-forwarded-host", "x-forwarded-prefix", "x-forwarded-proto"});
  say_where_it_came_from(fields, request, by);
  const bool upgrade = asks_for_upgrade(request);
  const bool trailers = given.has_token("TE", "trailers");
  if (upgrade) fields.add("Upgrade", joined(given, "Upgrade", {}));
  if (trailers) fields.add("TE", "trailers");
  const std::string_view mode = upgrade ? "Upgrade" : "close";
  fields.add("Connection", trailers ? std::string{mode} + ", TE" : std::string{mode});
  if (has_body(request.body) && request.version >= 11 && given.contains("Expect")) {
    fields.add("Expect", "100-continue");
  }
  return fields;
}

void remove_members(Headers& fields, std::string_view name, std::string_view prefix) {
  std::string others;
  bool found = false;
  for (const auto [other, value] : fields) {
    if (!same_text(other, name)) continue;
    for_each_member(value, [&](std::string_view member) {
      const bool is_one = member.starts_with(prefix);
      found = found || is_one;
      if (is_one) return;
      if (!others.empty()) others += ", ";
      others += member;
    });
  }
  if (!found) return;
  fields.remove(name);
  if (!others.empty()) fields.add(name, others);
}

bool has_passed(const Headers& fields, std::string_view name) {
  bool found = false;
  for (const auto [field, value] : fields) {
    if (!same_text(field, "Via")) continue;
    for_each_member(value, [&](std::string_view member) {
      // received-protocol RWS received-by [ RWS comment ]
      member.remove_prefix(std::min(member.find(' ') + 1, member.size()));
      found = found || member.substr(0, member.find(' ')) == name;
    });
  }
  return found;
}

Headers forwarded_answer(const HttpResponseHead& answer) {
  Headers fields = without(answer.headers, {"content-length"});
  if (answer.status == 101) {
    fields.add("Upgrade", joined(answer.headers, "Upgrade", {}));
    fields.add("Connection", "Upgrade");
  }
  return fields;
}

Headers forwarded_trailers(const Headers& trailers) {
  return without(trailers, {"content-length", "forwarded", "host", "trailer", "via", "x-forwarded-for",
                            "x-forwarded-host", "x-forwarded-prefix", "x-forwarded-proto"});
}

}  // namespace skiff::protocol
