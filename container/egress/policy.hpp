#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "container/egress/host_name.hpp"

namespace skiff::container::egress {

/// The servers that a sandbox may reach by name.
class Policy {
 public:
  /// Most rules of a policy.
  static constexpr std::size_t kMostRules = 1000;

  /// Parses rules as a user writes them: `pypi.org` (port 443), `example.com:8443`, `*.example.com` (every name below
  /// it, at any depth, and not example.com itself), `*` (every name), all for TLS; `http://deb.debian.org` (port 80)
  /// for plain HTTP. Errors: `invalid_field`, with the rule and what is wrong.
  [[nodiscard]] static Result<Policy> parse(std::span<const std::string> rules);
  /// Reads the file that `save` writes. Errors: those of read(2); `invalid_field` for any other content.
  [[nodiscard]] static Result<Policy> load(const std::filesystem::path& file);
  /// Parses what `save` writes: a JSON array of rules.
  [[nodiscard]] static Result<Policy> parse_json(std::string_view text);
  /// The policy after a change of the rules `current`: `rules` in their place, or, if there are none, without
  /// `removed` and then with `added`. `invalid_field` also for a removed rule that is not among them, with those that
  /// are.
  [[nodiscard]] static Result<Policy> after(std::span<const std::string> current,
                                            const std::optional<std::vector<std::string>>& rules,
                                            std::span<const std::string> added, std::span<const std::string> removed);
  /// Replaces the file as a whole.
  [[nodiscard]] Result<> save(const std::filesystem::path& file) const;

  /// `host` is in the form of `host_name`.
  [[nodiscard]] bool allows(std::string_view host, std::uint16_t port, bool is_plain = false) const;
  /// The wildcard by which alone it allows the host; empty if a rule names the host or every name, or none allows it.
  [[nodiscard]] std::string wildcard_of(std::string_view host, std::uint16_t port, bool is_plain = false) const;
  /// The rule that allows it, in its one form; empty if none does.
  [[nodiscard]] std::string rule_of(std::string_view host, std::uint16_t port, bool is_plain = false) const;
  /// Whether it allows the host with some port.
  [[nodiscard]] bool names(std::string_view host) const;
  /// Where it allows the host: each port, with TLS and without it.
  [[nodiscard]] std::vector<Target> targets_of(const std::string& host) const;
  /// The rules in their one form, sorted, each once.
  [[nodiscard]] std::vector<std::string> rules() const;
  /// A digest of the rules, 12 hexadecimal digits: the same rules have the same one everywhere.
  [[nodiscard]] const std::string& generation() const { return generation_; }

 private:
  struct Rule {
    std::string host;  ///< of a wildcard: what follows its star, with the dot
    std::uint16_t port = 0;
    bool is_plain = false;

    [[nodiscard]] static Result<Rule> parse(const std::string& text);
    [[nodiscard]] bool is_of(std::string_view name) const;
    [[nodiscard]] std::string text() const;
    auto operator<=>(const Rule&) const = default;
  };
  [[nodiscard]] const Rule* find(std::string_view host, std::uint16_t port, bool is_plain) const;

  std::vector<Rule> rules_;
  std::string generation_;
};

}  // namespace skiff::container::egress
