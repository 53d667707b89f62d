#include "container/cli/parse/candidates.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "container/cli/parse/parse.hpp"
#include "container/cluster/rbac.hpp"
#include "container/mcp/client_config.hpp"

namespace skiff::container {
namespace {

/// Adds the candidate once, if it begins with the typed text.
void offer(Candidates& candidates, std::string_view typed, std::string_view text, std::string_view help) {
  if (!text.starts_with(typed) || std::ranges::count(candidates.items, text, &Candidates::One::text) > 0) return;
  candidates.items.push_back({std::string{text}, std::string{help}});
}

/// Adds the first words of commands, or the second words of commands that begin with `first`.
void offer_names(Candidates& candidates, std::string_view typed, std::string_view first) {
  for (const Command& command : commands()) {
    if (command.group.empty()) continue;
    const std::size_t space = command.name.find(' ');
    if (first.empty()) {
      const bool is_group = space != std::string_view::npos;
      offer(candidates, typed, command.name.substr(0, space), is_group ? command.group : command.summary);
    } else if (space != std::string_view::npos && command.name.substr(0, space) == first) {
      offer(candidates, typed, command.name.substr(space + 1), command.summary);
    }
  }
}

const Setting* find_flag(const SettingsTable& table, std::string_view word) {
  if (word.starts_with("--")) {
    const auto row = std::ranges::find(table.rows(), word.substr(2), &Setting::flag);
    return row == table.rows().end() ? nullptr : &*row;
  }
  if (word.size() < 2 || word.front() != '-') return nullptr;
  const auto row = std::ranges::find(table.rows(), word.back(), &Setting::letter);
  return row == table.rows().end() ? nullptr : &*row;
}

void offer_values(Candidates& candidates, const Setting& row, std::string_view typed, const std::string& before) {
  const auto* choice = std::get_if<setting::Choice>(&row.target);
  const auto* list = std::get_if<setting::List>(&row.target);
  const std::vector<std::string_view> none;
  const auto& words = choice != nullptr ? choice->words : list != nullptr ? list->words : none;
  for (const std::string_view word : words) {
    offer(candidates, before + std::string{typed}, before + std::string{word}, "");
  }
  candidates.files = row.value == "FILE";
}

/// Adds flags, or values if the typed text contains a flag and `=`.
void offer_flags(Candidates& candidates, const SettingsTable& table, const std::string& typed) {
  if (const std::size_t equals = typed.find('='); equals != std::string::npos) {
    const Setting* row = find_flag(table, typed.substr(0, equals));
    if (row != nullptr) offer_values(candidates, *row, typed.substr(equals + 1), typed.substr(0, equals + 1));
    return;
  }
  for (const Setting& row : table.rows()) {
    if (!row.flag.empty()) offer(candidates, typed, "--" + std::string{row.flag}, row.help);
  }
}

}  // namespace

Candidates find_candidates(std::span<const std::string> words) {
  Candidates candidates;
  if (words.empty()) return candidates;
  const std::string& typed = words.back();
  Options anywhere;
  const SettingsTable before{option_rows(anywhere)};
  while (words.size() > 1 && words.front().starts_with('-')) {
    const Setting* row = words.front().contains('=') ? nullptr : find_flag(before, words.front());
    const bool takes_next = row != nullptr && setting::takes_next_argument(row->target);
    if (takes_next && words.size() == 2) {
      offer_values(candidates, *row, typed, "");
      return candidates;
    }
    words = words.subspan(takes_next ? 2 : 1);
  }
  if (words.size() == 1) {
    if (typed.starts_with('-')) offer_flags(candidates, before, typed);
    offer_names(candidates, typed, "");
    return candidates;
  }
  if (std::ranges::count(words.first(words.size() - 1), "--") > 0) {
    candidates.files = true;
    return candidates;
  }
  std::vector<const char*> pointers;
  for (const std::string& word : words.first(words.size() - 1)) pointers.push_back(word.c_str());
  const Named named = find_command(pointers);
  if (named.command == nullptr) {
    if (words.size() == 2) offer_names(candidates, typed, words.front());
    return candidates;
  }
  const auto invocation = named.command->make();
  Options options;
  const SettingsTable table = table_of(*invocation, options);
  std::vector<std::string> given;
  const Setting* open = nullptr;  // a flag whose value comes next
  for (const std::string& word : words.subspan(named.words, words.size() - 1 - named.words)) {
    if (open != nullptr) {
      open = nullptr;
    } else if (word.starts_with('-') && word != "-") {
      const Setting* row = word.contains('=') ? nullptr : find_flag(table, word);
      if (row != nullptr && setting::takes_next_argument(row->target)) open = row;
    } else {
      given.push_back(word);
    }
  }
  const auto& expected = named.command->words;
  if (named.command->rest == Rest::required && given.size() > expected.size()) {
    candidates.files = true;
    return candidates;
  }
  if (open != nullptr) {
    offer_values(candidates, *open, typed, "");
    return candidates;
  }
  if (typed.starts_with('-')) {
    offer_flags(candidates, table, typed);
    offer(candidates, typed, "--help", "Describe this command.");
    return candidates;
  }
  if (expected.empty()) return candidates;
  const bool is_beyond = given.size() >= expected.size();
  if (is_beyond && !expected.back().repeated) return candidates;
  const Word& word = is_beyond ? expected.back() : expected[given.size()];
  if (word.kind == WordKind::shell) {
    for (const std::string_view shell : {"bash", "zsh", "fish"}) offer(candidates, typed, shell, "");
  }
  if (word.kind == WordKind::command) {
    for (const std::string_view command : commands_with_rights()) offer(candidates, typed, command, "");
  }
  if (word.kind == WordKind::mcp_client) {
    for (const McpClient& client : mcp_clients()) offer(candidates, typed, client.name, client.title);
  }
  // `skiff mcp` is a command, and the first word of another one.
  if (named.words == 1 && words.size() == 2) offer_names(candidates, typed, words.front());
  candidates.asks_for = word.kind;
  candidates.files = word.kind == WordKind::any_path && !typed.contains(':');
  if (!given.empty()) candidates.sandbox = given.front();
  return candidates;
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") {
    return R"(# Completion of skiff for bash: source <(skiff completion bash)
_skiff() {
  local line=${COMP_LINE:0:COMP_POINT} word text files=
  local -a words
  # Without -r: what is offered below a name comes back with its backslashes.
  read -a words <<<"$line"
  [[ $line == *[[:space:]] && $line != *\\[[:space:]] ]] && words+=("")
  word=${words[-1]}
  # readline replaces only what stands behind the last of these.
  local fixed=${word%"${word##*[:=@]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r text _; do
    if [[ $text == :files ]]; then files=1; continue; fi
    # A name from a sandbox must not become a part of the command line that does something.
    printf -v text %q "${text#"$fixed"}"
    COMPREPLY+=("$text")
  done < <(skiff __complete -- "${words[@]:1}" 2>/dev/null)
  if [[ $files ]]; then compopt -o filenames; while IFS= read -r text; do COMPREPLY+=("$text"); done < <(compgen -f -- "$word"); fi
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=/] ]]; then compopt -o nospace; fi
}
complete -F _skiff skiff
)";
  }
  if (shell == "zsh") {
    return R"(#compdef skiff
# Completion of skiff for zsh: source <(skiff completion zsh)
_skiff() {
  local line text help files=
  local -a texts shown
  while IFS=$'\t' read -r text help; do
    if [[ $text == :files ]]; then files=1; continue; fi
    texts+=("$text")
    shown+=("$text${help:+  $help}")
  done < <(skiff __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( $#texts )); then compadd -l -d shown -- $texts; fi
  if [[ -n $files ]]; then _files; fi
}
if [[ $funcstack[1] == _skiff ]]; then _skiff "$@"; else compdef _skiff skiff; fi
)";
  }
  return R"(# Completion of skiff for fish: skiff completion fish | source
function __skiff_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (skiff __complete -- $words[2..-1] 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            printf '%s\n' $line
        end
    end
end
complete -c skiff -f -a '(__skiff_complete)'
)";
}

}  // namespace skiff::container
