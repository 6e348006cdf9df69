#include "data/chat_template.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "gguf/model_files.h"
#include "jinja/template.h"

namespace troika::data {

using nlohmann::ordered_json;

// Counts the rules that this file adds to the template: a change of them makes other samples.
static constexpr int rules_version = 2;

static std::string hash_of(const std::string& source, const ChatTemplate::Options& options) {
  const ordered_json all = {rules_version, source, options.tools_source, options.bos, options.eos, options.thinking};
  return base::hash_bytes(all.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

ChatTemplate::ChatTemplate(const std::string& source, const std::string& origin, Options options)
    : template_(std::make_shared<const jinja::Template>(source, origin)),
      with_tools_(template_),
      options_(std::move(options)),
      fingerprint_(hash_of(source, options_)) {
  if (!options_.tools_source.empty())
    with_tools_ = std::make_shared<const jinja::Template>(options_.tools_source, origin + " (tool_use)");
}

static bool has_tools(const ordered_json& tools) { return tools.is_array() && !tools.empty(); }

ordered_json ChatTemplate::context_of(ordered_json messages, const ordered_json& tools) const {
  ordered_json context;
  context["messages"] = std::move(messages);
  context["tools"] = has_tools(tools) ? tools : ordered_json();
  context["documents"] = ordered_json();
  context["add_generation_prompt"] = false;
  context["enable_thinking"] = options_.thinking;
  if (!options_.bos.empty()) context["bos_token"] = options_.bos;
  if (!options_.eos.empty()) context["eos_token"] = options_.eos;
  return context;
}

void ChatTemplate::refuse_other_roles(const ordered_json& messages) const {
  if (options_.roles == Options::Roles::any) return;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string role = messages[i].value("role", "");
    if (role != "user" && role != "assistant" && (i > 0 || role != "system"))
      throw base::DataError(
          base::say("the template 'alpaca' has no form for messages of the role '{}'; 'chatml' has", role));
  }
}

std::string ChatTemplate::render_context(ordered_json* context, End end, const std::tm& now) const {
  refuse_other_roles((*context)["messages"]);
  (*context)["add_generation_prompt"] = end == End::answer_begins;
  jinja::RenderOptions options;
  options.now = now;
  return (has_tools((*context)["tools"]) ? with_tools_ : template_)->render(*context, options);
}

std::string ChatTemplate::render(const Conversation& conversation, End end) const {
  const std::time_t now = std::time(nullptr);
  std::tm today = {};
  localtime_r(&now, &today);
  ordered_json context = context_of(conversation.messages(), conversation.tools());
  return render_context(&context, end, today);
}

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

std::string folder_of_tokenizer(const std::string& tokenizer) {
  if (tokenizer == config::bytes_tokenizer) return "";
  if (gguf::holds_files(tokenizer)) return tokenizer;
  const std::size_t slash = tokenizer.rfind('/');
  return tokenizer.empty() ? "" : slash == std::string::npos ? "." : tokenizer.substr(0, slash);
}

static json object_in(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  if (folder.empty() || !gguf::file_exists(path)) return json::object();
  json config = base::parse_json(gguf::read_file(path), path);
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
  for (const json& one : list)
    if (one.is_object() && one.value("name", json()) == name && one.value("template", json()).is_string())
      return one["template"].get<std::string>();
  return "";
}

static ChatTemplate from_config(const json& config, const std::string& path, ChatTemplate::Options options) {
  const json& given = config.at("chat_template");
  if (given.is_string()) return ChatTemplate(given.get<std::string>(), path + " chat_template", std::move(options));
  const std::string source = given.is_array() ? named_template(given, "default") : "";
  if (source.empty())
    throw base::DataError(
        base::say("{}: chat_template is neither a string nor a list with a template 'default'", path));
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
  throw base::ConfigError(
      base::say("data.chat_template is auto, but the tokenizer '{}' has no chat template (neither chat_template.jinja "
                "nor chat_template in tokenizer_config.json); give --chat-template chatml, alpaca or a Jinja file",
                tokenizer));
}

const BuiltInTemplate* find_built_in_template(std::string_view name) {
  for (const BuiltInTemplate* one : {&chatml_template, &alpaca_template})
    if (name == one->name) return one;
  return nullptr;
}

bool names_template_file(std::string_view chat_template) {
  return chat_template != config::tokenizers_template && find_built_in_template(chat_template) == nullptr;
}

ChatTemplate open_chat_template(const std::string& choice, const std::string& tokenizer, bool thinking,
                                const std::string& end_text) {
  const std::string folder = folder_of_tokenizer(tokenizer);
  const json config = object_in(folder, "tokenizer_config.json");
  ChatTemplate::Options options{mark(config, "bos_token"), mark(config, "eos_token"), thinking, ""};
  if (options.bos.empty() || options.eos.empty()) {
    const json map = object_in(folder, "special_tokens_map.json");
    if (options.bos.empty()) options.bos = mark(map, "bos_token");
    if (options.eos.empty()) options.eos = mark(map, "eos_token");
  }
  if (options.eos.empty()) options.eos = end_text;
  if (const BuiltInTemplate* built_in = find_built_in_template(choice); built_in != nullptr) {
    if (!built_in->end_mark.empty()) options.eos = built_in->end_mark;
    if (built_in == &alpaca_template) options.roles = ChatTemplate::Options::Roles::plain;
    return ChatTemplate(std::string(built_in->source), "data.chat_template " + choice, std::move(options));
  }
  if (choice == config::tokenizers_template) return of_tokenizer(tokenizer, folder, config, std::move(options));
  if (!base::file_exists(choice))
    throw base::ConfigError(base::say(
        "data.chat_template is '{}', which is not a file; it takes auto, chatml, alpaca or a Jinja file", choice));
  return ChatTemplate(read_template(choice), choice, std::move(options));
}

}  // namespace troika::data
