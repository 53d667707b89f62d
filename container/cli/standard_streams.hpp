#pragma once

namespace skiff::container {

/// For the beginning of main, before anything is opened: a descriptor of 0 to 2 that is closed would be given to the
/// next file or socket. A closed stdin is at its end from then on, nothing can be written to a closed stdout (EBADF, as
/// before), and nobody reads a closed stderr.
void hold_standard_streams() noexcept;

}  // namespace skiff::container
