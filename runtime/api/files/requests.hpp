#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "protocol/json/schema.hpp"

/// The bodies of requests for files, as lists of fields.
namespace skiff::runtime::api {

using protocol::field;
using protocol::Text;

struct MoveRequest {
  std::string from;
  std::string to;
  bool overwrite = false;
  static constexpr auto fields = std::tuple{
      field("from", &MoveRequest::from, "Path to move or copy", {.min_length = 1, .text = Text::no_nul}),
      field("to", &MoveRequest::to, "New path", {.min_length = 1, .text = Text::no_nul}),
      field("overwrite", &MoveRequest::overwrite, "Replace an existing file", {.optional = true}),
  };
};

struct MakeDirectoryRequest {
  std::string path;
  bool parents = false;
  static constexpr auto fields = std::tuple{
      field("path", &MakeDirectoryRequest::path, "Path of the new directory", {.min_length = 1, .text = Text::no_nul}),
      field("parents", &MakeDirectoryRequest::parents, "Create missing parents, and accept a directory that exists",
            {.optional = true}),
  };
};

struct MakeLinkRequest {
  std::string path;
  std::string target;
  static constexpr auto fields = std::tuple{
      field("path", &MakeLinkRequest::path, "Path of the new symbolic link", {.min_length = 1, .text = Text::no_nul}),
      field("target", &MakeLinkRequest::target, "Target of the link; checked when it is followed",
            {.min_length = 1, .text = Text::no_nul}),
  };
};

struct SetModeRequest {
  std::string path;
  std::string mode;
  static constexpr auto fields = std::tuple{
      field("path", &SetModeRequest::path, "Path of a file or directory; a link is followed",
            {.min_length = 1, .text = Text::no_nul}),
      field("mode", &SetModeRequest::mode, "Octal mode, for example \"0755\"; set-id bits need the scope admin",
            {.min_length = 1}),
  };
};

struct EditRequest {
  std::string old_text;
  std::string new_text;
  std::uint64_t count = 1;
  static constexpr std::string_view kSchemaName = "Edit";
  static constexpr auto fields = std::tuple{
      field("old", &EditRequest::old_text, "Text to replace", {.min_length = 1}),
      field("new", &EditRequest::new_text, "Replacement"),
      field("count", &EditRequest::count, "Number of times that the old text must occur, default 1; 0: at least once",
            {.optional = true}),
  };
};

struct EditsRequest {
  std::vector<EditRequest> edits;
  static constexpr auto fields = std::tuple{
      field("edits", &EditsRequest::edits, "Edits to make in this order; all or none", {.max_items = 1000}),
  };
};

enum class BatchOperation : std::uint8_t { write, edit, remove, move };

struct BatchItemRequest {
  BatchOperation op = BatchOperation::write;
  std::string path;
  std::optional<std::string> content;
  std::optional<std::string> content_base64;
  std::vector<EditRequest> edits;
  std::optional<std::string> to;
  std::optional<std::string> mode;
  std::optional<std::string> if_match;
  static constexpr std::string_view kSchemaName = "BatchOperation";
  static constexpr auto fields = std::tuple{
      field("op", &BatchItemRequest::op, "Operation"),
      field("path", &BatchItemRequest::path, "Path of the file", {.min_length = 1, .text = Text::no_nul}),
      field("content", &BatchItemRequest::content, "write: content as text"),
      field("content_base64", &BatchItemRequest::content_base64, "write: content in base64"),
      field("edits", &BatchItemRequest::edits, "edit: edits to make", {.max_items = 1000, .optional = true}),
      field("to", &BatchItemRequest::to, "move: new path", {.min_length = 1, .text = Text::no_nul}),
      field("mode", &BatchItemRequest::mode, "write: octal mode; set-id bits need the scope admin", {.min_length = 1}),
      field("if_match", &BatchItemRequest::if_match, "Entity tags, as in the header If-Match"),
  };
};

struct BatchRequest {
  std::vector<BatchItemRequest> operations;
  bool atomic = true;
  static constexpr auto fields = std::tuple{
      field("operations", &BatchRequest::operations, "Operations, run in this order", {.max_items = 1000}),
      field("atomic", &BatchRequest::atomic, "Make all operations or none; false: each by itself", {.optional = true}),
  };
};

}  // namespace skiff::runtime::api

namespace skiff::protocol {

template <>
struct EnumNames<runtime::api::BatchOperation> {
  using E = runtime::api::BatchOperation;
  static constexpr std::string_view kSchemaName = "BatchOperationKind";
  static constexpr std::array values{EnumName{E::write, "write"}, EnumName{E::edit, "edit"},
                                     EnumName{E::remove, "delete"}, EnumName{E::move, "move"}};
};

}  // namespace skiff::protocol
