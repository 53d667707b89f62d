#include <algorithm>

#include "runtime/dialects/dialect.hpp"

namespace skiff::runtime::dialects {
namespace {

/// Splits the values at commas, because commas also separate the values of a list in an environment variable.
std::vector<std::string> parts_of(const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  for (const std::string& value : values) {
    std::size_t begin = 0;
    while (begin <= value.size()) {
      const std::size_t comma = std::min(value.find(',', begin), value.size());
      parts.push_back(value.substr(begin, comma - begin));
      begin = comma + 1;
    }
  }
  return parts;
}

std::string names(std::span<const Dialect> known) {
  std::string text;
  for (const Dialect& dialect : known) text += (text.empty() ? "" : ", ") + std::string{dialect.name};
  return text;
}

}  // namespace

Result<std::vector<Wanted>> wanted(const std::vector<std::string>& values, std::span<const Dialect> known,
                                   std::string_view host) {
  std::vector<Wanted> found;
  const auto add_address = [&](const std::string& text) -> Result<> {
    auto address = protocol::Address::parse(text);
    if (!address) return fail(Errc::invalid_field, "--dialect: " + address.error().message, "--dialect");
    found.back().addresses.push_back(*address);
    return {};
  };
  for (const std::string& part : parts_of(values)) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const auto row = std::ranges::find(known, name, &Dialect::name);
    if (row == known.end()) {
      // This is the address of a further endpoint.
      if (equals == std::string::npos && !found.empty() && !found.back().addresses.empty() &&
          part.find(':') != std::string::npos) {
        SKIFF_TRY_VOID(add_address(part));
        continue;
      }
      return fail(Errc::invalid_field,
                  "--dialect \"" + part + "\": expected one of " + names(known) + ", alone or with =ADDR:PORT",
                  "--dialect");
    }
    if (std::ranges::find(found, &*row, &Wanted::dialect) != found.end()) {
      return fail(Errc::invalid_field, "--dialect " + name + " is given twice", "--dialect");
    }
    found.push_back({.dialect = &*row, .addresses = {}});
    if (equals == std::string::npos) continue;
    SKIFF_TRY_VOID(add_address(part.substr(equals + 1)));
  }
  for (Wanted& one : found) {
    const auto& endpoints = one.dialect->endpoints;
    if (one.addresses.empty()) {
      for (const Endpoint& endpoint : endpoints) one.addresses.push_back(*protocol::Address::ip(host, endpoint.port));
    }
    if (one.addresses.size() != endpoints.size()) {
      std::string what;
      for (const Endpoint& endpoint : endpoints) what += (what.empty() ? "" : ", ") + std::string{endpoint.speaks};
      return fail(Errc::invalid_field,
                  "--dialect " + std::string{one.dialect->name} + " takes one address for each of: " + what,
                  "--dialect");
    }
  }
  return found;
}

std::string identity_name(std::string_view dialect) {
  return "dialect:" + std::string{dialect};
}

}  // namespace skiff::runtime::dialects
