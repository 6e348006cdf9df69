#include "jinja/functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "jinja/value_text.h"

namespace troika::jinja {

// As the sandbox of Jinja has it.
static constexpr std::uint64_t longest_range = 100000;

static Value range(Call& call) {
  const bool has_begin = call.argument(1) != nullptr;
  const std::int64_t begin = has_begin ? call.integer(0, 0) : 0, end = call.integer(has_begin ? 1 : 0, 0);
  const std::int64_t step = call.integer(2, 1);
  if (step == 0) throw Failure{"the step of range is 0"};
  std::vector<Value> numbers;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (numbers.size() == longest_range) throw Failure{fmt::format("range gives at most {} numbers", longest_range)};
    numbers.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return call.rendering.list(std::move(numbers));
}

static Value make_dict(Call& call) {
  std::vector<std::pair<Value, Value>> entries;
  if (call.given.positional.size() > 1 ||
      (!call.given.positional.empty() && call.given.positional[0].dict() == nullptr))
    throw Failure{"dict takes a dict and named values"};
  if (!call.given.positional.empty()) entries = call.given.positional[0].dict()->entries;
  for (const auto& [name, value] : call.given.named) {
    const auto same = std::find_if(entries.begin(), entries.end(), [key = &name](const auto& entry) {
      return entry.first.text() != nullptr && *entry.first.text() == *key;
    });
    if (same != entries.end()) {
      same->second = value;
    } else {
      entries.emplace_back(Value(name), value);
    }
  }
  return call.rendering.dict(std::move(entries));
}

static Value make_namespace(Call& call) {
  const Value given = make_dict(call);
  std::vector<std::pair<std::string, Value>> entries;
  for (const auto& [name, value] : given.dict()->entries) {
    if (name.text() == nullptr)
      throw Failure{fmt::format("{} cannot name an attribute of a namespace", type_name(name))};
    entries.emplace_back(*name.text(), value);
  }
  return call.rendering.name_space(std::move(entries));
}

static Value raise_exception(Call& call) { throw Failure{str(*call.argument(0), call.rendering)}; }

static void check_date_format(const std::string& format) {
  static constexpr std::string_view letters = "aAbBcCdDeFgGhHIjklmMnpPrRStTuUVwWxXyYzZ%";
  for (std::size_t at = format.find('%'); at != std::string::npos; at = format.find('%', at + 1)) {
    at += at + 1 < format.size() && format[at + 1] == '-' ? 2 : 1;
    if (at < format.size() && letters.find(format[at]) != std::string_view::npos) continue;
    throw Failure{fmt::format("strftime_now does not know '%{}'", at < format.size() ? format.substr(at, 1) : "")};
  }
}

static Value strftime_now(Call& call) {
  constexpr std::size_t longest_format = 1000, longest_field = 64;
  const std::string& format = call.text(0);
  check_date_format(format);
  if (format.size() > longest_format) throw Failure{fmt::format("strftime_now takes at most {} bytes", longest_format)};
  std::string text(longest_field * (format.size() + 1), '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &call.rendering.now()));
  return call.rendering.text(std::move(text));
}

static constexpr Routine functions[] = {{"range", "start stop? step?", range},
                                        {"dict", "*", make_dict},
                                        {"raise_exception", "message", raise_exception},
                                        {"strftime_now", "format", strftime_now},
                                        {"namespace", "*", make_namespace}};

const Routine* find_function(std::string_view name) { return find(functions, name); }

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  add_names(functions, &names);
  return names;
}

}  // namespace troika::jinja
