#include "container/cli/parse/candidates.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

std::vector<std::string> texts(const std::vector<std::string>& words) {
  std::vector<std::string> found;
  for (const auto& one : find_candidates(words).items) found.push_back(one.text);
  return found;
}

bool offers(const std::vector<std::string>& words, const std::string& text) {
  return std::ranges::count(texts(words), text) == 1;
}

TEST(Candidates, AreCommandsAtFirst) {
  EXPECT_TRUE(offers({""}, "up"));
  EXPECT_TRUE(offers({""}, "files"));
  EXPECT_FALSE(offers({""}, "__complete"));
  EXPECT_EQ(texts({"des"}), std::vector<std::string>{"describe"});
  EXPECT_EQ(texts({"files", ""}),
            (std::vector<std::string>{"ls", "cat", "write", "edit", "stat", "glob", "grep", "rm"}));
  EXPECT_TRUE(texts({"nope", ""}).empty());
}

TEST(Candidates, AreTheSecondWordBesideASandbox) {
  EXPECT_EQ(texts({"mcp", ""}), std::vector<std::string>{"config"});
  EXPECT_EQ(find_candidates(std::vector<std::string>{"mcp", ""}).asks_for, WordKind::sandbox);
  EXPECT_EQ(texts({"mcp", "config", "c"}),
            (std::vector<std::string>{"claude-desktop", "claude-code", "cursor", "codex"}));
}

TEST(Candidates, AreFlagsOfTheCommandAndTheirValues) {
  EXPECT_EQ(texts({"up", "--idle"}), std::vector<std::string>{"--idle-ttl"});
  EXPECT_TRUE(offers({"ps", "--"}, "--output"));
  EXPECT_EQ(texts({"ps", "-o", "js"}), (std::vector<std::string>{"json", "jsonpath="}));
  EXPECT_EQ(texts({"ps", "--output", "y"}), std::vector<std::string>{"yaml"});
  EXPECT_EQ(texts({"ps", "--output=n"}), std::vector<std::string>{"--output=name"});
  EXPECT_EQ(texts({"up", "--dialect", "p"}), std::vector<std::string>{"python-runtime"});
  EXPECT_EQ(texts({"pool", "create", "warm", "--dialect=s"}), std::vector<std::string>{"--dialect=sandboxd"});
  EXPECT_TRUE(texts({"up", "--ttl", ""}).empty());
  EXPECT_TRUE(find_candidates(std::vector<std::string>{"up", "--env-file", ""}).files);
}

TEST(Candidates, KnowFlagsBeforeTheCommand) {
  EXPECT_EQ(texts({"--names"}), std::vector<std::string>{"--namespace"});
  EXPECT_EQ(texts({"-o", "y"}), std::vector<std::string>{"yaml"});
  EXPECT_EQ(texts({"-n", "prod", "-q", "des"}), std::vector<std::string>{"describe"});
  EXPECT_EQ(find_candidates(std::vector<std::string>{"-n", "prod", "exec", ""}).asks_for, WordKind::sandbox);
}

TEST(Candidates, AskForWhatAWordNames) {
  const auto asked = [](const std::vector<std::string>& words) { return find_candidates(words); };
  EXPECT_EQ(asked({"exec", ""}).asks_for, WordKind::sandbox);
  EXPECT_EQ(asked({"exec", "-w", "dir", "-it", "b"}).asks_for, WordKind::sandbox);
  EXPECT_EQ(asked({"logs", "box", ""}).asks_for, WordKind::command_id);
  EXPECT_EQ(asked({"logs", "box", ""}).sandbox, "box");
  EXPECT_EQ(asked({"rm", "a", "b", ""}).asks_for, WordKind::sandbox);
  EXPECT_EQ(asked({"files", "cat", "box", "a", ""}).asks_for, WordKind::remote_path);
  EXPECT_EQ(asked({"describe", "box", ""}).asks_for, WordKind::sandbox);
  EXPECT_EQ(asked({"shell", "box", ""}).asks_for, WordKind::text);
  EXPECT_TRUE(asked({"cp", ""}).files);
  EXPECT_EQ(asked({"cp", "a", "b", "c", "box:"}).asks_for, WordKind::any_path);
  EXPECT_FALSE(asked({"cp", "box:"}).files);
  EXPECT_TRUE(asked({"exec", "box", "--", ""}).files);
  EXPECT_TRUE(asked({"exec", "box", "cat", "-n", ""}).files);
  EXPECT_TRUE(texts({"exec", "box", "cat", "--"}).empty());
  EXPECT_EQ(texts({"completion", ""}), (std::vector<std::string>{"bash", "zsh", "fish"}));
}

}  // namespace
}  // namespace skiff::container
