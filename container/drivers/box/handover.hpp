#pragma once

#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "container/drivers/box/plan.hpp"

namespace skiff::container::box {

/// What `skiff box-init` gets from the launcher.
struct Handover {
  Plan plan;
  std::vector<UniqueFd> listeners;   ///< bound Unix sockets that skiffd serves
  UniqueFd lock;                     ///< holds the lock of the sandbox's name until skiffd runs; may be empty
  std::vector<UniqueFd> trees = {};  ///< copies of mounts that root has made (mounts.hpp); some may be empty
};

/// Sends it as one message on a Unix socket. The caller keeps its descriptors.
[[nodiscard]] Result<> send_handover(int socket, const Handover& given);

/// Reads it. Errors: `invalid_request` for anything else.
[[nodiscard]] Result<Handover> receive_handover(int socket);

/// Sends a socket of the box back to the launcher.
[[nodiscard]] Result<> send_back(int socket, const UniqueFd& given);

/// Takes it. It does not wait: `invalid_request` if the box has not sent it.
[[nodiscard]] Result<UniqueFd> receive_back(int socket);

}  // namespace skiff::container::box
