#include "container/drivers/box/mounts.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "container/drivers/box/report.hpp"

namespace skiff::container::box {
namespace {

/// Where the new root is mounted until it becomes the root: a directory that every machine has. All copies of mounts
/// are open by then.
constexpr const char* kNewRoot = "/usr";
/// Room for the directories of an overlay while it is mounted.
constexpr const char* kStaging = "/usr/.staging";

constexpr std::array kDevices{"null", "zero", "full", "random", "urandom", "tty"};

struct Covered {
  const char* path;
  bool is_hidden;  ///< else it is read-only
};
/// The parts of /proc that lead to the kernel and not to processes.
constexpr std::array kCovered{
    Covered{"sys", false},          Covered{"bus", false},        Covered{"fs", false},
    Covered{"irq", false},          Covered{"acpi", false},       Covered{"asound", false},
    Covered{"scsi", false},         Covered{"driver", false},     Covered{"sysrq-trigger", true},
    Covered{"kcore", true},         Covered{"keys", true},        Covered{"key-users", true},
    Covered{"kallsyms", true},      Covered{"kmsg", true},        Covered{"timer_list", true},
    Covered{"sched_debug", true},   Covered{"modules", true},     Covered{"kpagecount", true},
    Covered{"kpageflags", true},    Covered{"kpagecgroup", true}, Covered{"config.gz", true},
    Covered{"latency_stats", true}, Covered{"vmallocinfo", true}, Covered{"slabinfo", true},
};

struct Sysctl {
  const char* name;
  const char* value;
};
/// Limits of the user namespace. They are the last writes: a mount namespace is needed to copy a mount.
constexpr std::array kUserLimits{
    Sysctl{"max_cgroup_namespaces", "0"},   Sysctl{"max_ipc_namespaces", "0"}, Sysctl{"max_mnt_namespaces", "0"},
    Sysctl{"max_net_namespaces", "0"},      Sysctl{"max_pid_namespaces", "0"}, Sysctl{"max_time_namespaces", "0"},
    Sysctl{"max_user_namespaces", "0"},     Sysctl{"max_uts_namespaces", "0"}, Sysctl{"max_inotify_instances", "32"},
    Sysctl{"max_inotify_watches", "32768"}, Sysctl{"max_fanotify_groups", "0"}};

constexpr unsigned kCopy = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
constexpr unsigned long kQuiet = MS_NOSUID | MS_NODEV | MS_NOEXEC;

bool set_attributes(int directory, const char* path, unsigned flags, std::uint64_t attributes, int id_map = -1) {
  mount_attr wanted{};
  wanted.attr_set = attributes;
  wanted.propagation = MS_PRIVATE;
  if (id_map >= 0) {
    wanted.attr_set |= MOUNT_ATTR_IDMAP;
    wanted.userns_fd = static_cast<std::uint64_t>(id_map);
  }
  return ::mount_setattr(directory, path, flags, &wanted, sizeof wanted) == 0;
}

UniqueFd copy_of(const std::string& path, std::uint64_t attributes, unsigned more_flags = 0, int id_map = -1) {
  UniqueFd tree{::open_tree(AT_FDCWD, path.c_str(), kCopy | more_flags)};
  if (!tree) refuse(Step::tree, path);
  if (!set_attributes(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, attributes, id_map)) refuse(Step::tree, path);
  return tree;
}

void write_file(int directory, const char* name, const std::string& text) {
  const UniqueFd file{::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    refuse(Step::root, name);
  }
}

/// Writes a kernel file. Returns false with errno.
bool write_setting(int directory, const char* name, const std::string& text) {
  const UniqueFd file{::openat(directory, name, O_WRONLY | O_CLOEXEC)};
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// A user namespace whose map shows the owner of files on disk as the user of the box (mount_setattr(2), idmapped
/// mounts). Its only process ends at once.
UniqueFd create_id_map(const struct stat& owner, const Plan& plan) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) refuse(Step::workspace, "pipe");
  const UniqueFd reader{ends[0]};
  UniqueFd writer{ends[1]};
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  if (child < 0) refuse(Step::clone, "user namespace of a mount");
  if (child == 0) {
    writer.reset();
    char byte = 0;
    [[maybe_unused]] const ssize_t got = ::read(reader.get(), &byte, 1);
    ::_exit(0);
  }
  const std::string process = "/proc/" + std::to_string(child);
  const UniqueFd directory{::open(process.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  const auto line = [](auto inner, auto outer) { return std::to_string(inner) + " " + std::to_string(outer) + " 1"; };
  UniqueFd map;
  if (write_setting(directory.get(), "uid_map", line(owner.st_uid, plan.user)) &&
      write_setting(directory.get(), "gid_map", line(owner.st_gid, plan.group))) {
    map.reset(::openat(directory.get(), "ns/user", O_RDONLY | O_CLOEXEC));
  }
  if (!map) refuse(Step::workspace, "map of ids");
  writer.reset();
  ::waitpid(child, nullptr, 0);
  return map;
}

UniqueFd copy_of_source(const Overlay& overlay, const Plan& plan, bool as_root) {
  UniqueFd tree{::open_tree(AT_FDCWD, overlay.source.c_str(), kCopy | AT_SYMLINK_NOFOLLOW)};
  struct stat found{};
  if (!tree || ::fstat(tree.get(), &found) != 0) refuse(Step::workspace, overlay.source);
  // Another directory, or a link, may have taken the place of the one that the user named.
  if (found.st_dev != overlay.device || found.st_ino != overlay.inode) {
    errno = ESTALE;
    refuse(Step::workspace, overlay.source);
  }
  UniqueFd map;
  if (as_root) map = create_id_map(found, plan);
  const std::uint64_t attributes =
      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (overlay.layer.empty() ? MOUNT_ATTR_RDONLY : 0);
  if (!set_attributes(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, attributes, map.get())) {
    refuse(Step::workspace, overlay.source);
  }
  return tree;
}

std::string in_new_root(const std::string& path) {
  return kNewRoot + path;
}

/// The path as the box sees it, for reports.
std::string as_seen(const std::string& path) {
  return path.starts_with(kNewRoot) ? path.substr(std::string_view{kNewRoot}.size()) : path;
}

void create_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return;
  errno = error.value();
  refuse(Step::root, as_seen(path));
}

/// Attaches a tree at a path of the new root, where it creates a file or a directory for it.
void attach(const UniqueFd& tree, const std::string& path, Step step) {
  struct stat what{};
  if (::fstat(tree.get(), &what) != 0) refuse(step, as_seen(path));
  if (S_ISDIR(what.st_mode)) {
    create_directories(path);
  } else {
    create_directories(std::filesystem::path{path}.parent_path());
    const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644)};
    if (!file) refuse(step, as_seen(path));
  }
  if (::move_mount(tree.get(), "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) refuse(step, as_seen(path));
}

void mount_at(const char* type, const std::string& path, unsigned long flags, const char* options, Step step) {
  create_directories(path);
  if (::mount(type, path.c_str(), type, flags, options) != 0) refuse(step, as_seen(path));
}

/// Mounts the source with the layer above it. Without a layer, an empty directory is below it: an overlay is needed
/// also for what is only read, because a read-only mount does not keep anybody from the sockets and FIFOs in it.
void mount_overlay(const Overlay& overlay, const UniqueFd& source, const UniqueFd& layer) {
  const std::string target = in_new_root(overlay.target);
  const std::string lower = std::string{kStaging} + "/lower";
  const std::string other = std::string{kStaging} + "/other";
  attach(source, lower, Step::workspace);
  if (layer) {
    attach(layer, other, Step::workspace);
  } else {
    create_directories(other);
  }
  create_directories(target);
  // Relative names, because paths may contain the characters that separate options.
  if (::chdir(kStaging) != 0) refuse(Step::workspace, kStaging);
  const char* const options =
      layer ? "lowerdir=lower,upperdir=other/upper,workdir=other/work,userxattr" : "lowerdir=lower:other,userxattr";
  const unsigned long flags = MS_NOSUID | MS_NODEV | (layer ? 0 : MS_RDONLY);
  if (::mount("overlay", target.c_str(), "overlay", flags, options) != 0) refuse(Step::workspace, overlay.source);
  if (::umount2(lower.c_str(), MNT_DETACH) != 0 || (layer && ::umount2(other.c_str(), MNT_DETACH) != 0) ||
      ::rmdir(lower.c_str()) != 0 || ::rmdir(other.c_str()) != 0) {
    refuse(Step::workspace, kStaging);
  }
}

/// Hides a directory of this machine below one that is seen, if there is one.
void hide(const std::string& path) {
  const std::string target = in_new_root(path);
  struct stat there{};
  if (::lstat(target.c_str(), &there) != 0 || !S_ISDIR(there.st_mode)) return;
  if (::mount("tmpfs", target.c_str(), "tmpfs", kQuiet | MS_RDONLY, "mode=755,size=4k,nr_inodes=2") != 0) {
    refuse(Step::bind, path);
  }
}

void mount_devices(const Trees& trees) {
  const std::string dev = in_new_root("/dev");
  mount_at("tmpfs", dev, MS_NOSUID | MS_NOEXEC, "mode=755,size=64k,nr_inodes=256", Step::devices);
  for (std::size_t i = 0; i < kDevices.size(); ++i) {
    if (trees.devices[i]) attach(trees.devices[i], dev + "/" + kDevices[i], Step::devices);
  }
  mount_at("devpts", dev + "/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,max=256", Step::devices);
  mount_at("tmpfs", dev + "/shm", kQuiet, "mode=1777,size=64m,nr_inodes=16k", Step::devices);
  create_directories(dev + "/mqueue");
  // A kernel may lack POSIX message queues.
  (void)::mount("mqueue", (dev + "/mqueue").c_str(), "mqueue", kQuiet, nullptr);
  for (const auto& [name, target] :
       {std::pair{"ptmx", "pts/ptmx"}, std::pair{"fd", "/proc/self/fd"}, std::pair{"stdin", "/proc/self/fd/0"},
        std::pair{"stdout", "/proc/self/fd/1"}, std::pair{"stderr", "/proc/self/fd/2"}}) {
    if (::symlink(target, (dev + "/" + name).c_str()) != 0) refuse(Step::devices, name);
  }
  if (!set_attributes(AT_FDCWD, dev.c_str(), 0, MOUNT_ATTR_RDONLY)) refuse(Step::devices, "/dev");
}

/// Mounts /proc and covers the parts that lead to the kernel. Returns its directory sys, which stays writable by this
/// descriptor alone.
UniqueFd mount_proc() {
  const std::string proc = in_new_root("/proc");
  mount_at("proc", proc, kQuiet, nullptr, Step::proc);
  UniqueFd settings{::open((proc + "/sys").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!settings) refuse(Step::proc, "sys");
  const std::string null = in_new_root("/dev/null");
  for (const Covered& one : kCovered) {
    const std::string path = proc + "/" + one.path;
    struct stat there{};
    if (::lstat(path.c_str(), &there) != 0) continue;
    const bool is_nulled = one.is_hidden && S_ISREG(there.st_mode);
    const UniqueFd cover{::open_tree(AT_FDCWD, is_nulled ? null.c_str() : path.c_str(), kCopy)};
    const std::uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | (is_nulled ? 0 : MOUNT_ATTR_RDONLY);
    if (!cover || !set_attributes(cover.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, attributes) ||
        ::move_mount(cover.get(), "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
      refuse(Step::proc, one.path);
    }
  }
  return settings;
}

void pivot() {
  if (::chdir(kNewRoot) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 || ::umount2(".", MNT_DETACH) != 0 ||
      ::chdir("/") != 0) {
    refuse(Step::pivot);
  }
  if (!set_attributes(AT_FDCWD, "/", 0, MOUNT_ATTR_RDONLY)) refuse(Step::pivot, "/");
}

void write_limits(const UniqueFd& settings) {
  for (const Sysctl& limit : kUserLimits) {
    // Not every kernel knows all of them.
    const bool is_set = write_setting(settings.get(), (std::string{"user/"} + limit.name).c_str(), limit.value);
    if (!is_set && errno != ENOENT) refuse(Step::limits, limit.name);
  }
  // So servers in the box may listen on the usual ports.
  (void)write_setting(settings.get(), "net/ipv4/ip_unprivileged_port_start", "0");
}

}  // namespace

Trees open_trees(const Plan& plan, bool as_root) {
  Trees trees;
  for (const Bind& bind : plan.binds) {
    const std::uint64_t read_only = bind.writable ? 0 : MOUNT_ATTR_RDONLY;
    const unsigned no_link = bind.writable ? AT_SYMLINK_NOFOLLOW : 0;
    trees.binds.push_back(copy_of(bind.source, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | read_only, no_link));
  }
  for (const char* name : kDevices) {
    const std::string path = std::string{"/dev/"} + name;
    struct stat device{};
    const bool is_there = ::stat(path.c_str(), &device) == 0 && S_ISCHR(device.st_mode);
    trees.devices.push_back(is_there ? copy_of(path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) : UniqueFd{});
  }
  for (const Overlay& overlay : plan.overlays) {
    trees.sources.push_back(copy_of_source(overlay, plan, as_root));
    trees.layers.push_back(overlay.layer.empty()
                               ? UniqueFd{}
                               : copy_of(overlay.layer, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, AT_SYMLINK_NOFOLLOW));
  }
  return trees;
}

std::vector<UniqueFd> to_list(Trees trees) {
  std::vector<UniqueFd> list;
  for (auto* part : {&trees.binds, &trees.devices, &trees.sources, &trees.layers}) {
    std::ranges::move(*part, std::back_inserter(list));
  }
  return list;
}

Trees from_list(const Plan& plan, std::vector<UniqueFd> list) {
  Trees trees;
  const std::size_t overlays = plan.overlays.size();
  if (list.size() != plan.binds.size() + kDevices.size() + 2 * overlays) {
    errno = EBADMSG;
    refuse(Step::plan, "trees");
  }
  auto next = list.begin();
  for (const auto& [part, count] :
       {std::pair{&trees.binds, plan.binds.size()}, std::pair{&trees.devices, kDevices.size()},
        std::pair{&trees.sources, overlays}, std::pair{&trees.layers, overlays}}) {
    for (std::size_t i = 0; i < count; ++i) part->push_back(std::move(*next++));
  }
  return trees;
}

void build_root(const Plan& plan, const Trees& trees) {
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) refuse(Step::root, "private mounts");
  if (::mount("tmpfs", kNewRoot, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=16m,nr_inodes=16k") != 0) {
    refuse(Step::root, "tmpfs");
  }
  for (std::size_t i = 0; i < plan.binds.size(); ++i)
    attach(trees.binds[i], in_new_root(plan.binds[i].target), Step::bind);
  for (const std::string& path : plan.hidden) hide(path);
  for (std::size_t i = 0; i < plan.overlays.size(); ++i) {
    mount_overlay(plan.overlays[i], trees.sources[i], trees.layers[i]);
  }
  for (const Text& text : plan.texts) {
    const std::string path = in_new_root(text.path);
    create_directories(std::filesystem::path{path}.parent_path());
    write_file(AT_FDCWD, path.c_str(), text.content);
  }
  for (const Link& link : plan.links) {
    create_directories(std::filesystem::path{in_new_root(link.path)}.parent_path());
    if (::symlink(link.target.c_str(), in_new_root(link.path).c_str()) != 0) refuse(Step::root, link.path);
  }
  create_directories(in_new_root("/sys"));
  mount_at("tmpfs", in_new_root("/run"), MS_NOSUID | MS_NODEV, "mode=755,size=16m,nr_inodes=16k", Step::root);
  mount_devices(trees);
  const UniqueFd settings = mount_proc();
  (void)::rmdir(kStaging);
  pivot();
  write_limits(settings);
}

}  // namespace skiff::container::box
