#include "data/open_chat_template.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "data/chat_template.h"
#include "jinja/template.h"

namespace troika::data {

const BuiltInTemplate alpaca_template = {"alpaca", R"jinja(
{%- set turns = messages %}
{%- if messages[0].role == 'system' %}
    {{- messages[0].content ~ '\n\n' }}
    {%- set turns = messages[1:] %}
{%- else %}
    {{- 'Below is an instruction that describes a task. '
        'Write a response that appropriately completes the request.\n\n' }}
{%- endif %}
{%- for message in turns %}
    {%- if message.role == 'user' %}
        {{- '### Instruction:\n' ~ message.content ~ '\n\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '### Response:\n' ~ message.content ~ eos_token ~ '\n\n' }}
    {%- else %}
        {{- raise_exception("the template 'alpaca' has no form for messages of the role '" ~ message.role
                            ~ "'; 'chatml' has") }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '### Response:\n' }}
{%- endif %}
)jinja",
                                         ""};

// Tools follow the text of the system message; calls of tools follow the content of theirs.
const BuiltInTemplate chatml_template = {"chatml", R"jinja(
{%- set turns = messages %}
{%- if tools %}
    {%- set system = '' %}
    {%- if messages[0].role == 'system' %}
        {%- set system = messages[0].content ~ '\n\n' %}
        {%- set turns = messages[1:] %}
    {%- endif %}
    {{- '<|im_start|>system\n' ~ system ~ '<tools>' }}
    {%- for tool in tools %}
        {{- '\n' ~ tool | tojson }}
    {%- endfor %}
    {{- '\n</tools><|im_end|>\n' }}
{%- endif %}
{%- for message in turns %}
    {{- '<|im_start|>' ~ message.role ~ '\n' ~ (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {{- '\n' if message.content or not loop.first }}
        {{- '<tool_call>\n' ~ (call.function or call) | tojson ~ '\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
)jinja",
                                         "<|im_end|>"};

using nlohmann::json;

// The folder of tokenizer.json; empty for the tokenizer that has none.
static std::string folder_of(const std::string& tokenizer) {
  if (tokenizer == config::bytes_tokenizer) return "";
  if (base::directory_exists(tokenizer)) return tokenizer;
  const std::size_t slash = tokenizer.rfind('/');
  return slash == std::string::npos ? "." : tokenizer.substr(0, slash);
}

static json tokenizer_config(const std::string& folder) {
  const std::string path = folder + "/tokenizer_config.json";
  if (folder.empty() || !base::file_exists(path)) return json::object();
  json config = base::parse_json(base::read_file(path), path);
  if (!config.is_object()) throw base::DataError(base::say("{} is not a JSON object", path));
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
  if (source.empty()) throw base::DataError(base::say("{}: chat_template is neither a string nor a list with a template 'default'", path));
  options.tools_source = named_template(given, "tool_use");
  return ChatTemplate(source, path + " chat_template", std::move(options));
}

static std::string read_template(const std::string& path) {
  jinja::Template::check_size(static_cast<std::size_t>(base::file_size(path)), path);
  return base::read_file(path);
}

static ChatTemplate of_tokenizer(const std::string& tokenizer, const std::string& folder, const json& config,
                                 ChatTemplate::Options options) {
  const std::string file = folder + "/chat_template.jinja";
  if (!folder.empty() && base::file_exists(file)) return ChatTemplate(read_template(file), file, std::move(options));
  if (config.contains("chat_template") && !config["chat_template"].is_null())
    return from_config(config, folder + "/tokenizer_config.json", std::move(options));
  throw base::ConfigError(base::say("data.chat_template is auto, but the tokenizer '{}' has no chat template (neither chat_template.jinja nor chat_template in tokenizer_config.json); give --chat-template chatml, alpaca or a Jinja file", tokenizer));
}

const BuiltInTemplate* find_built_in_template(std::string_view name) {
  for (const BuiltInTemplate* one : {&chatml_template, &alpaca_template}) {
    if (name == one->name) return one;
  }
  return nullptr;
}

bool names_template_file(std::string_view chat_template) {
  return chat_template != config::tokenizers_template && find_built_in_template(chat_template) == nullptr;
}

ChatTemplate open_chat_template(const std::string& choice, const std::string& tokenizer, bool thinking,
                                const std::string& end_text) {
  const std::string folder = folder_of(tokenizer);
  const json config = tokenizer_config(folder);
  ChatTemplate::Options options{mark(config, "bos_token"), mark(config, "eos_token"), thinking, ""};
  if (options.eos.empty()) options.eos = end_text;
  if (const BuiltInTemplate* built_in = find_built_in_template(choice); built_in != nullptr) {
    if (!built_in->end_mark.empty()) options.eos = built_in->end_mark;
    return ChatTemplate(std::string(built_in->source), "data.chat_template " + choice, std::move(options));
  }
  if (choice == config::tokenizers_template) return of_tokenizer(tokenizer, folder, config, std::move(options));
  if (!base::file_exists(choice)) {
    throw base::ConfigError(base::say("data.chat_template is '{}', which is no file; it takes auto, chatml, alpaca or a Jinja file", choice));
  }
  return ChatTemplate(read_template(choice), choice, std::move(options));
}

}  // namespace troika::data
