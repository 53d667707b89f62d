#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/unique_fd.hpp"
#include "container/kube/client.hpp"

namespace skiff::test {

/// A real Kubernetes control plane (tests/kubernetes/cluster/start.py), one for all tests of this program.
class Cluster {
 public:
  Cluster() {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error{"pipe2"};
    to_ = UniqueFd{in[1]};
    from_ = UniqueFd{out[0]};
    const UniqueFd child_in{in[0]};
    const UniqueFd child_out{out[1]};
    std::array<std::string, 3> words{"/usr/bin/python3", "-B", SKIFF_CLUSTER_STARTER};
    std::array<char*, 4> argv{words[0].data(), words[1].data(), words[2].data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, child_in.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, child_out.get(), STDOUT_FILENO);
    const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error{"posix_spawn"};
  }
  ~Cluster() {
    to_.reset();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Waits until it answers.
  void begin() {
    const std::string line = read_line(180'000);
    if (line.empty()) throw std::runtime_error{"the control plane did not start, see its message above"};
    kubeconfig_ = nlohmann::json::parse(line).at("kubeconfig").get<std::string>();
  }
  [[nodiscard]] const std::string& kubeconfig() const { return kubeconfig_; }

  void restart_the_server() {
    tell("kill kube-apiserver");
    tell("start kube-apiserver");
  }

  /// "kill kube-apiserver", "start kube-apiserver": returns when it is done.
  void tell(const std::string& order) {
    const std::string line = order + "\n";
    if (::write(to_.get(), line.data(), line.size()) < 0) throw std::runtime_error{"the starter is gone"};
    const std::string reply = read_line(120'000);
    if (reply != "done") throw std::runtime_error{order + ": " + reply};
  }

 private:
  std::string read_line(int most_ms) {
    std::string line;
    char byte = 0;
    for (;;) {
      pollfd one{.fd = from_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&one, 1, most_ms) != 1 || ::read(from_.get(), &byte, 1) != 1) return {};
      if (byte == '\n') return line;
      line += byte;
    }
  }

  pid_t pid_ = -1;
  UniqueFd to_;
  UniqueFd from_;
  std::string kubeconfig_;
};

/// The cluster that tests/kubernetes/main.cpp has started.
Cluster& cluster();

/// The access that find_access finds for one of the cluster's contexts.
inline kube::Access access_as(const std::string& context) {
  kube::AccessOptions options;
  options.kubeconfig = cluster().kubeconfig();
  options.context = context;
  return kube::find_access(options, [](const char*) { return std::string{}; }).value();
}

inline kube::Client connect(Executor executor, kube::Access access, kube::TransportOptions options = {}) {
  auto pool = std::make_shared<BlockingPool>("test", 2);
  return kube::Client{kube::Transport::open(executor, std::move(pool), std::move(access), std::move(options)).value()};
}
inline kube::Client connect_as(Executor executor, const std::string& context) {
  return connect(executor, access_as(context));
}

/// A name that no other test has.
inline std::string fresh_name(const std::string& prefix) {
  static int count = 0;
  return prefix + "-" + std::to_string(++count);
}

/// A namespace for one test. It is not removed: the cluster goes with the program.
inline Task<std::string> create_namespace(kube::Client* client) {
  const std::string name = fresh_name("test");
  kube::Object object = kube::Object::make(kube::kNamespaces, {}, name);
  auto made = co_await client->create(kube::kNamespaces, std::move(object));
  if (!made) ADD_FAILURE() << made.error().error.message;
  co_return name;
}

inline kube::Object config_map(const std::string& namespace_name, const std::string& name, const std::string& value) {
  kube::Object object = kube::Object::make(kube::kConfigMaps, namespace_name, name);
  object.json["data"]["key"] = value;
  return object;
}

}  // namespace skiff::test
