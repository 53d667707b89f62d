#include "protocol/http2/server.hpp"

#include <utility>

#include "protocol/http2/connection.hpp"

namespace skiff::protocol {

Http2Server::Http2Server(Executor executor, Http2ServerOptions options)
    : options_{std::move(options)},
      connections_{executor,
                   {.slots = options_.limits.slots,
                    .make = [this](Stream stream, ConnectionSlots::Slot& slot) -> std::unique_ptr<ServerConnection> {
                      return std::make_unique<Http2Connection>(std::move(stream), options_, slot);
                    },
                    .out_of_descriptors = options_.out_of_descriptors}} {}

}  // namespace skiff::protocol
