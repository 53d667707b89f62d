#include "runtime/api/files/edits.hpp"

#include <utility>
#include <vector>

#include "fs/content/edit.hpp"
#include "fs/tree/batch.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "protocol/service/body.hpp"
#include "runtime/api/files/conditions.hpp"
#include "runtime/api/files/entry_text.hpp"
#include "runtime/api/files/requests.hpp"
#include "runtime/api/long_work.hpp"

namespace skiff::runtime::api {
namespace {

Result<fs::Operation> operation_of(const Identity& identity, BatchItemRequest& item, const std::string& field) {
  fs::Operation operation{.path = std::move(item.path)};
  const auto refuse = [&](std::string what, std::string_view member) {
    return fail(Errc::invalid_field, std::move(what), field + '/' + std::string{member});
  };
  const bool has_content = item.content || item.content_base64;
  if (has_content && item.op != BatchOperation::write) return refuse("content goes with op write", "content");
  if (item.mode && item.op != BatchOperation::write) return refuse("mode goes with op write", "mode");
  if (!item.edits.empty() && item.op != BatchOperation::edit) return refuse("edits go with op edit", "edits");
  if (item.to && item.op != BatchOperation::move) return refuse("to goes with op move", "to");
  switch (item.op) {
    case BatchOperation::write:
      operation.kind = fs::Operation::Kind::write;
      if (item.content && item.content_base64)
        return refuse("content and content_base64 exclude each other", "content");
      if (!has_content) return refuse("a write needs content or content_base64", "content");
      if (item.content) {
        operation.content = std::move(*item.content);
      } else if (auto bytes = protocol::decode_base64(*item.content_base64)) {
        operation.content = std::move(*bytes);
      } else {
        return refuse("this is not base64", "content_base64");
      }
      if (item.mode) {
        SKIFF_TRY(operation.mode, asked_mode(identity, *item.mode, field + "/mode"));
      }
      break;
    case BatchOperation::edit: {
      operation.kind = fs::Operation::Kind::edit;
      SKIFF_TRY(operation.edits, edits_of(item.edits, field + "/edits"));
      break;
    }
    case BatchOperation::remove:
      operation.kind = fs::Operation::Kind::remove;
      break;
    case BatchOperation::move:
      operation.kind = fs::Operation::Kind::move;
      if (!item.to) return refuse("a move needs to", "to");
      operation.to = std::move(*item.to);
      break;
  }
  if (item.if_match) {
    SKIFF_TRY(operation.conditions.if_match, fs::TagList::parse(*item.if_match));
  }
  return operation;
}

void append_outcome(std::string& out, const fs::Operation& operation, const fs::Outcome& outcome) {
  if (out.back() != '[') out += ',';
  if (!outcome.written) {
    out += '{';
    protocol::append_json_key(out, "path");
    protocol::append_json_string(out, protocol::to_valid_utf8(operation.path));
    protocol::append_json_key(out, "deleted");
    out += "true}";
    return;
  }
  append_entry(out, operation.to.empty() ? operation.path : operation.to, outcome.written->entry, outcome.written->tag);
  if (operation.kind != fs::Operation::Kind::edit) return;
  out.pop_back();
  protocol::append_json_key(out, "diff");
  protocol::append_json_string(out, protocol::to_valid_utf8(outcome.diff));
  out += '}';
}

}  // namespace

Result<std::vector<fs::Edit>> edits_of(std::vector<EditRequest>& requests, const std::string& field) {
  if (requests.empty()) return fail(Errc::missing_field, "there is nothing to edit", field);
  std::vector<fs::Edit> edits;
  edits.reserve(requests.size());
  for (EditRequest& one : requests) {
    edits.push_back({.old = std::move(one.old_text), .replacement = std::move(one.new_text), .count = one.count});
  }
  return edits;
}

void append_edited(std::string& out, std::string_view path, const fs::Edited& edited) {
  append_entry(out, path, edited.written.entry, edited.written.tag);
  out.pop_back();
  protocol::append_json_key(out, "diff");
  protocol::append_json_string(out, protocol::to_valid_utf8(edited.diff));
  protocol::append_json_key(out, "diff_cut");
  out += edited.diff_cut ? "true}" : "false}";
}

Result<std::vector<fs::Operation>> operations_of(const Identity& identity, BatchRequest& request) {
  if (request.operations.empty() || request.operations.size() > fs::kMostOperations) {
    return fail(Errc::invalid_field, "a batch has 1 to " + std::to_string(fs::kMostOperations) + " operations",
                "/operations");
  }
  std::vector<fs::Operation> operations;
  for (BatchItemRequest& item : request.operations) {
    SKIFF_TRY(auto operation, operation_of(identity, item, "/operations/" + std::to_string(operations.size())));
    operations.push_back(std::move(operation));
  }
  return operations;
}

Result<std::string> run_batch(const fs::Tree& tree, std::span<const fs::Operation> operations, bool atomic,
                              const std::stop_token& stop) {
  std::string text{R"({"items":[)"};
  if (atomic) {
    SKIFF_TRY(auto done, fs::run_all(tree, operations, stop));
    for (std::size_t i = 0; i < done.size(); ++i) append_outcome(text, operations[i], done[i]);
  } else {
    const auto done = fs::run_each(tree, operations, stop);
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (done[i]) {
        append_outcome(text, operations[i], *done[i]);
      } else {
        if (text.back() != '[') text += ',';
        append_failure(text, operations[i].path, done[i].error());
      }
    }
  }
  text += "]}";
  return text;
}

Task<Result<>> edit_file(Call& call, const FileCall& file) {
  if (!protocol::service::is_json(call.http.request().headers.get("Content-Type"))) {
    co_return fail(Errc::unsupported_media_type,
                   "edits must be sent as JSON: -H 'Content-Type: application/json'; to append bytes use "
                   "append=true");
  }
  SKIFF_CO_TRY(call.body, co_await call.http.read_body(call.agent.settings.max_json_bytes));
  SKIFF_CO_TRY(auto request, call.decode<EditsRequest>());
  SKIFF_CO_TRY(auto edits, edits_of(request.edits, "/edits"));
  SKIFF_CO_TRY(auto conditions, conditions_of(call));
  auto work = [&](const std::stop_token& stop) {
    return fs::edit(*file.tree, file.path, edits, {.conditions = std::move(conditions)}, stop);
  };
  SKIFF_CO_TRY(auto edited, co_await on_disk(call, std::move(work)));
  std::string text;
  append_edited(text, file.path, edited);
  call.http.extra_headers().set("ETag", edited.written.tag);
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> change_files(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto request, call.decode<BatchRequest>());
  SKIFF_CO_TRY(auto operations, operations_of(call.identity, request));
  auto work = [&](const std::stop_token& stop) { return run_batch(*file.tree, operations, request.atomic, stop); };
  SKIFF_CO_TRY(auto text, co_await on_disk(call, std::move(work)));
  co_return co_await call.json(200, std::move(text));
}

}  // namespace skiff::runtime::api
