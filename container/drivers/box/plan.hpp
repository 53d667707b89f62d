#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "container/host/record.hpp"
#include "protocol/json/schema.hpp"

/// The plan of a box: what it contains, as a value. `skiff box-init` carries it out (enter.hpp).
namespace skiff::container::box {

/// The user of the box, as its programs see it.
inline constexpr std::uint32_t kInnerId = 1000;
inline constexpr std::string_view kHome = "/home/user";
inline constexpr std::string_view kWorkspace = "/workspace";
/// Where the egress proxy of a box listens in it.
inline constexpr const char* kProxyAddress = "127.0.0.1:3128";
/// The place of skiffd in the box.
inline constexpr std::string_view kAgentPath = "/.skiff/skiffd";

/// A file or directory of this machine that the box sees, with the mounts below it.
struct Bind {
  std::string source;
  std::string target;
  bool writable = false;

  static constexpr auto fields = std::tuple{protocol::field("source", &Bind::source, "Path on this machine"),
                                            protocol::field("target", &Bind::target, "Path in the box"),
                                            protocol::field("writable", &Bind::writable, "True: the box may write")};
};

/// A symbolic link of the box.
struct Link {
  std::string path;
  std::string target;

  static constexpr auto fields = std::tuple{protocol::field("path", &Link::path, "Path in the box"),
                                            protocol::field("target", &Link::target, "What the link contains")};
};

/// A small file that the plan itself contains.
struct Text {
  std::string path;
  std::string content;

  static constexpr auto fields = std::tuple{protocol::field("path", &Text::path, "Path in the box"),
                                            protocol::field("content", &Text::content, "Content")};
};

/// A directory of this machine over which the box writes: what it changes goes to `layer`, and the directory stays as
/// it is. `device` and `inode` are those of the directory that the user named.
struct Overlay {
  std::string source;
  std::string layer;  ///< a directory with `upper` and `work`; empty: the box may only read
  std::string target;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  static constexpr auto fields = std::tuple{
      protocol::field("source", &Overlay::source, "Path on this machine"),
      protocol::field("layer", &Overlay::layer, "Directory of what the box changes; empty: it may only read"),
      protocol::field("target", &Overlay::target, "Path in the box"),
      protocol::field("device", &Overlay::device, "Device of the source"),
      protocol::field("inode", &Overlay::inode, "Inode of the source"),
  };
};

struct Plan {
  std::string hostname;
  std::uint32_t user = 0;   ///< the id on this machine that the box runs as
  std::uint32_t group = 0;  ///< its group
  std::vector<Bind> binds = {};
  std::vector<Link> links = {};
  std::vector<Text> texts = {};
  std::vector<Overlay> overlays = {};
  std::vector<std::string> hidden = {};  ///< directories of the binds that are empty in the box
  std::vector<std::string> pasta = {};   ///< command line of the program that gives it a network; empty: none
  std::vector<std::string> barred = {};  ///< prefixes that it must not reach; empty: it has no network
  std::vector<std::string> groups = {};  ///< directories of control groups of this machine that the box is in
  std::uint64_t processes = 0;           ///< most processes and threads
  bool egress = false;                   ///< it gets the socket of an egress proxy, on `kProxyAddress`
  std::vector<std::string> argv = {};    ///< of the agent; empty: the box ends when it is complete, as a trial
  std::vector<std::string> environment = {};

  static constexpr auto fields = std::tuple{
      protocol::field("hostname", &Plan::hostname, "Name of the host in the box"),
      protocol::field("user", &Plan::user, "Id on this machine"),
      protocol::field("group", &Plan::group, "Group on this machine"),
      protocol::field("binds", &Plan::binds, "Files and directories of this machine"),
      protocol::field("links", &Plan::links, "Symbolic links"),
      protocol::field("texts", &Plan::texts, "Files that the plan contains"),
      protocol::field("overlays", &Plan::overlays, "Directories that are written over"),
      protocol::field("hidden", &Plan::hidden, "Directories that are empty"),
      protocol::field("pasta", &Plan::pasta, "Command line of pasta"),
      protocol::field("barred", &Plan::barred, "Prefixes that it must not reach"),
      protocol::field("groups", &Plan::groups, "Control groups"),
      protocol::field("processes", &Plan::processes, "Most processes and threads"),
      protocol::field("egress", &Plan::egress, "True: it gets the socket of an egress proxy"),
      protocol::field("argv", &Plan::argv, "Command line of the agent"),
      protocol::field("environment", &Plan::environment, "Environment of the agent"),
  };
};

/// The parts of this machine that a box may see.
struct Machine {
  std::vector<std::string> directories = {};  ///< system directories, by their real paths
  std::vector<Link> links = {};               ///< links among them, as /bin to usr/bin
  std::vector<std::string> etc = {};          ///< the names of `kEtc` that there are
  bool has_cpu_list = false;                  ///< /sys/devices/system/cpu
  std::vector<std::string> hidden = {};       ///< directories below those that are seen
};

/// Looks at this machine. The user's home directory and `state`, the directory of skiff's own files, are hidden.
[[nodiscard]] Machine look_at_machine(const std::filesystem::path& state);

/// True if a directory that a system directory links to has no files of a user: it is not one of the private
/// directories, in one of them, or above one.
[[nodiscard]] bool is_of_the_system(const std::filesystem::path& directory,
                                    const std::vector<std::filesystem::path>& private_directories);

/// The directories of a box that its programs may write to: name below the sandbox's files, and path in the box.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& state_directories();

/// The paths that each box has for itself. A directory of this machine can have none of them.
[[nodiscard]] std::vector<std::string> paths_of_each_box();

/// Plans the box of a record, whose files are in `root`. `skiffd` is the agent's program on this machine, `listeners`
/// the count of descriptors that it inherits, from 3: the agent's, then one for each port of its dialects. `ours` is
/// our own environment.
[[nodiscard]] Result<Plan> create_plan(const HostRecord& record, const Machine& machine, const std::string& root,
                                       const std::string& skiffd, const std::string& public_key,
                                       const char* const* ours);

/// Plans a box without an agent, which shows whether this machine can have one.
[[nodiscard]] Plan create_trial(const Machine& machine, std::uint32_t user, std::uint32_t group);

}  // namespace skiff::container::box
