#include "runtime/api/answers/answer.hpp"

namespace skiff::runtime::api {

void UntypedAnswer::add(const UntypedRow& row) {
  rows_.push_back(row);
}

void UntypedAnswer::append_rows(std::string& out, const void* source) const {
  for (const UntypedRow& row : rows_) row.append(out, row.name, source);
}

void UntypedAnswer::append_object(std::string& out, const void* source) const {
  out += '{';
  append_rows(out, source);
  out += '}';
}

std::vector<Member> UntypedAnswer::members() const {
  std::vector<Member> all;
  for (const UntypedRow& row : rows_) all.push_back({row.name, row.schema(), row.always, row.help});
  return all;
}

protocol::SchemaRef UntypedAnswer::schema() const {
  return {.name = std::string{name_}, .json = object(members())};
}

std::string UntypedAnswer::named_schema() const {
  const protocol::SchemaRef whole = schema();
  return name_.empty() ? whole.json : named(name_, whole.json);
}

}  // namespace skiff::runtime::api
