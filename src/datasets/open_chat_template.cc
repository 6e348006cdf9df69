#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "datasets/built_in_templates.h"
#include "datasets/chat_template.h"

namespace troika::datasets {
using nlohmann::json;

// The folder of tokenizer.json; empty for the tokenizer that has none.
static std::string folder_of(const std::string& tokenizer) {
  if (tokenizer == "bytes") return "";
  if (base::directory_exists(tokenizer)) return tokenizer;
  const std::size_t slash = tokenizer.rfind('/');
  return slash == std::string::npos ? "." : tokenizer.substr(0, slash);
}

static json tokenizer_config(const std::string& folder) {
  const std::string path = folder + "/tokenizer_config.json";
  if (folder.empty() || !base::file_exists(path)) return json::object();
  json config = base::parse_json(base::read_file(path), path);
  if (!config.is_object()) throw base::DataError(fmt::format("{} is not a JSON object", path));
  return config;
}

// A string, or an object with the string as its content; empty where there is none.
static std::string mark(const json& config, const char* key) {
  const json token = config.value(key, json());
  const json text = token.is_object() ? token.value("content", json()) : token;
  return text.is_string() ? text.get<std::string>() : "";
}

// One of {"name": ..., "template": ...}; empty where there is none of that name.
static std::string named_template(const json& list, const std::string& name) {
  for (const json& one : list) {
    if (one.is_object() && one.value("name", json()) == name && one.value("template", json()).is_string())
      return one["template"].get<std::string>();
  }
  return "";
}

static ChatTemplate from_config(const json& config, const std::string& path, ChatTemplate::Options options) {
  const json& given = config.at("chat_template");
  if (given.is_string()) return ChatTemplate(given.get<std::string>(), path + " chat_template", std::move(options));
  const std::string source = given.is_array() ? named_template(given, "default") : "";
  if (source.empty())
    throw base::DataError(
        fmt::format("{}: chat_template is neither a string nor a list with a template 'default'", path));
  options.tools_source = named_template(given, "tool_use");
  return ChatTemplate(source, path + " chat_template", std::move(options));
}

static ChatTemplate of_tokenizer(const std::string& tokenizer, const std::string& folder, const json& config,
                                 ChatTemplate::Options options) {
  const std::string file = folder + "/chat_template.jinja";
  if (!folder.empty() && base::file_exists(file)) return ChatTemplate(base::read_file(file), file, std::move(options));
  if (config.contains("chat_template") && !config["chat_template"].is_null())
    return from_config(config, folder + "/tokenizer_config.json", std::move(options));
  throw base::ConfigError(fmt::format(
      "data.chat_template is auto, but the tokenizer '{}' has no chat template (neither chat_template.jinja nor "
      "chat_template in tokenizer_config.json); set data.chat_template to chatml, alpaca or a Jinja file",
      tokenizer));
}

ChatTemplate open_chat_template(const std::string& choice, const std::string& tokenizer, bool thinking,
                                const std::string& end_text) {
  const std::string folder = folder_of(tokenizer);
  const json config = tokenizer_config(folder);
  ChatTemplate::Options options{mark(config, "bos_token"), mark(config, "eos_token"), thinking, ""};
  if (options.eos.empty()) options.eos = end_text;
  for (const BuiltInTemplate* one : {&chatml_template, &alpaca_template}) {
    if (choice != one->name) continue;
    if (!one->end_mark.empty()) options.eos = one->end_mark;
    return ChatTemplate(std::string(one->source), fmt::format("the template {}", one->name), std::move(options));
  }
  if (choice == "auto") return of_tokenizer(tokenizer, folder, config, std::move(options));
  if (!base::file_exists(choice)) {
    throw base::ConfigError(fmt::format(
        "data.chat_template is '{}', which is no file; it takes auto, chatml, alpaca or a Jinja file", choice));
  }
  return ChatTemplate(base::read_file(choice), choice, std::move(options));
}

}  // namespace troika::datasets
