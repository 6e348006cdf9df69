#include "config/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "config/deepspeed.h"
#include "config/presets.h"
#include "config/spellings.h"

namespace troika::config {
namespace {

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

const std::vector<std::string> own_flags = {"config", "deepspeed", "print-config", "help"};

bool is_known(std::string_view name) {
  const bool own = std::find(own_flags.begin(), own_flags.end(), normalised(name)) != own_flags.end();
  return own || find_field(name) != nullptr || find_ignored(name) != nullptr || find_switch(name) != nullptr;
}

std::string nearest_flag(const std::string& name) {
  std::vector<std::string> names = own_flags;
  for (const auto& row : fields()) {
    names.push_back(row.flag().substr(2));
    names.insert(names.end(), row.flags.begin(), row.flags.end());
    names.insert(names.end(), row.familiar.begin(), row.familiar.end());
  }
  for (const auto& row : fields()) {  // "--layers" for --model.layers
    if (normalised(row.name) == name) return row.flag();
  }
  const std::string near = base::nearest(name, names);
  return near.empty() ? "" : "--" + near;
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  CommandLine parse() {
    while (next_ < arguments_.size()) {
      const std::string& token = arguments_[next_++];
      if (token == "-h") {
        result_.help = true;
      } else if (starts_with(token, "--") && token.size() > 2) {
        read_flag(token);
      } else if (starts_with(token, "-")) {
        fail("unknown flag " + token.substr(0, 2) + ": flags begin with two dashes");
        skip_value();
      } else {
        take_word(token);
      }
    }
    for (const FlatKey& file : deepspeed_) take_deepspeed(read_deepspeed(file, ""), &result_.layer);
    return std::move(result_);
  }

 private:
  void fail(std::string what) { result_.layer.errors.push_back(std::move(what)); }

  void read_flag(const std::string& token) {
    const auto equals = token.find('=');
    shown_ = token.substr(0, equals);
    has_inline_ = equals != std::string::npos;
    inline_ = has_inline_ ? token.substr(equals + 1) : "";
    const std::string name = normalised(shown_.substr(2));
    if (name == "help") {
      result_.help = true;
    } else if (name == "print-config") {
      result_.print_config = boolean().value_or(true);
    } else if (name == "config") {
      if (const auto file = value()) take_file(*file);
    } else if (name == "deepspeed") {
      if (const auto file = value()) deepspeed_.push_back({"deepspeed", FlatKey::Kind::text, *file, shown_});
    } else if (const Ignored* ignored = find_ignored(name)) {
      result_.layer.notes.push_back(fmt::format("{} is ignored: {}", shown_, ignored->why));
      if (next_ < arguments_.size() && !is_known_flag(arguments_[next_])) skip_any();
    } else if (const Switch* on = find_switch(name)) {
      if (boolean().value_or(true)) add(field_of(on->key), std::string(on->value));
    } else if (const Field* field = find_field(name)) {
      read_field(*field);
    } else {
      const std::string near = nearest_flag(name);
      fail("unknown flag " + shown_ + (near.empty() ? "; --help lists all" : "; did you mean " + near + "?"));
      skip_value();
    }
  }

  void read_field(const Field& field) {
    if (std::holds_alternative<Access<bool>>(field.access) && !has_inline_) {
      return add(field, boolean().value_or(true) ? "true" : "false");
    }
    if (const auto text = value()) add(field, *text);
  }

  void add(const Field& field, std::string text) {
    result_.layer.assignments.push_back({&field, std::move(text), shown_});
  }

  // The value of the flag at hand: behind '=', or the next token unless that is a flag.
  std::optional<std::string> value() {
    if (has_inline_) return inline_;
    if (next_ < arguments_.size() && !starts_with(arguments_[next_], "--")) return arguments_[next_++];
    fail(shown_ + " needs a value");
    return std::nullopt;
  }

  // An explicit true or false; nothing when the flag stands alone.
  std::optional<bool> boolean() {
    if (has_inline_) {
      const auto parsed = parse_bool(inline_);
      if (!parsed) fail(shown_ + " takes true or false");
      return parsed;
    }
    const auto parsed = next_ < arguments_.size() ? parse_bool(arguments_[next_]) : std::nullopt;
    if (parsed) ++next_;
    return parsed;
  }

  void skip_value() {
    if (!has_inline_ && next_ < arguments_.size() && !starts_with(arguments_[next_], "--")) ++next_;
  }

  void skip_any() {
    if (!has_inline_) ++next_;
  }

  static bool is_known_flag(const std::string& token) {
    return starts_with(token, "--") && is_known(token.substr(2, token.find('=') - 2));
  }

  // A folder is a model, name=value a flag without its dashes, anything else a file of settings.
  void take_word(const std::string& path) {
    if (is_known_flag("--" + path) && path.find('=') != std::string::npos) return read_flag("--" + path);
    if (!base::directory_exists(path)) return take_file(path);
    result_.layer.assignments.push_back({&field_of("model.path"), path, path});
  }

  void take_file(const std::string& path) {
    if (result_.file.empty()) {
      result_.file = path;
    } else {
      fail(fmt::format("'{}' is a second configuration file beside '{}'; one is read", path, result_.file));
    }
  }

  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
  std::string shown_;   // the flag at hand as typed, without its value
  std::string inline_;  // the text behind '='
  bool has_inline_ = false;
  std::vector<FlatKey> deepspeed_;  // compared with all other flags
  CommandLine result_;
};

// "eth0" of "=eth0,eth1", the form of NCCL_SOCKET_IFNAME.
std::string first_interface(const std::string& list) {
  const std::string first = list.substr(0, list.find(','));
  return starts_with(first, "=") ? first.substr(1) : first;
}

bool matches(std::string_view variable, std::string_view pattern) {
  const bool is_prefix = !pattern.empty() && pattern.back() == '*';
  return is_prefix ? starts_with(variable, pattern.substr(0, pattern.size() - 1)) : variable == pattern;
}

}  // namespace

CommandLine read_command_line(const std::vector<std::string>& arguments) { return Parser(arguments).parse(); }

Layer read_environment(const Environment& environment) {
  Layer layer;
  for (const auto& field : fields()) {
    for (const auto variable : field.variables) {
      const auto found = environment.find(std::string(variable));
      if (found == environment.end() || found->second.empty()) continue;
      const std::string origin = fmt::format("{} in the environment", variable);
      const bool is_interface = field.key() == "comm.interface";
      if (is_interface && found->second.front() == '^') {
        layer.notes.push_back(origin +
                              " is ignored: it names interfaces to avoid, and --comm.interface takes one to use");
        continue;
      }
      layer.assignments.push_back({&field, is_interface ? first_interface(found->second) : found->second, origin});
      break;
    }
  }
  for (const auto& row : ignored_variables()) {
    std::vector<std::string> present;
    for (const auto& [name, value] : environment) {
      if (matches(name, row.name)) present.push_back(name);
    }
    if (present.empty()) continue;
    layer.notes.push_back(fmt::format("{} in the environment {} ignored: {}", base::join(present, ", "),
                                      present.size() > 1 ? "are" : "is", row.why));
  }
  return layer;
}

}  // namespace troika::config
