#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/shares.hpp"
#include "base/unique_fd.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

/// Pipes by which bytes go from one socket to another without a copy (splice(2)). Each holder may have as many as the
/// others leave free. The process must ignore SIGPIPE. Reactor thread only.
class SplicePipes {
 private:
  struct Ends {
    UniqueFd out;
    UniqueFd in;
  };

 public:
  /// The size of a pipe. Its bytes are pages of the kernel that no other limit counts.
  static constexpr std::size_t kBytes = 1024 * 1024;

  explicit SplicePipes(std::size_t most) : taken_{most} {}
  SplicePipes(const SplicePipes&) = delete;
  SplicePipes& operator=(const SplicePipes&) = delete;

  /// A pipe for as long as it is needed. The pool must outlive it.
  class Pipe {
   public:
    Pipe(Pipe&&) noexcept = default;
    Pipe& operator=(Pipe&&) = delete;
    ~Pipe();

    /// Takes bytes from a plain stream, without waiting. Returns how many: 0 at its end, nothing when it would block,
    /// or when the kernel has no splice(2) for it; then there are no more pipes. The pipe must be empty.
    [[nodiscard]] std::optional<Result<std::size_t>> fill(Stream* from);
    /// Gives bytes to a plain stream, without waiting. Returns how many; 0 when it would block.
    [[nodiscard]] Result<std::size_t> drain(Stream* to);
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

   private:
    friend class SplicePipes;
    Pipe(SplicePipes* of, Ends ends, Shares::Part part) : of_{of}, ends_{std::move(ends)}, part_{std::move(part)} {}

    SplicePipes* of_;
    Ends ends_;  ///< none in a pipe that was moved from
    Shares::Part part_;
    std::size_t size_ = 0;  ///< bytes in it
  };

  /// Returns nothing when the holder has its share, or the system has no more pipes of that size.
  [[nodiscard]] std::optional<Pipe> take(const std::string& who);
  [[nodiscard]] std::size_t taken() const noexcept { return taken_.used(); }

 private:
  Shares taken_;
  std::vector<Ends> spare_;  ///< a few, so that not each burst makes one
  bool is_useless_ = false;  ///< the kernel does not splice
};

}  // namespace skiff::protocol
