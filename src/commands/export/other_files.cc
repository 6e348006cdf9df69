#include "commands/export/model_folder.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "config/choices.h"
#include "config/huggingface/model_folder.h"
#include "data/chat_template.h"
#include "gguf/model_files.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/tokenizer_json.h"
#include "weights/weights_folder.h"

namespace troika::commands {
namespace {

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The files that go along, by the names they get.
std::map<std::string, std::string> auxiliary_files(const Belongings& source, const std::string& tokenizer) {
  std::map<std::string, std::string> files;
  const std::string spec = tokenizer.empty() ? source.tokenizer : tokenizer;
  const auto says_how_to_generate = [](const std::string& path) { return name_in(path) == "generation_config.json"; };
  for (const std::string& path : source.auxiliary_files)  // how to generate is the model's, whatever the tokenizer
    if (tokenizer.empty() || says_how_to_generate(path)) files.emplace(name_in(path), path);
  for (const std::string& path : weights::auxiliary_files_in(data::folder_of_tokenizer(tokenizer)))
    if (!says_how_to_generate(path)) files.emplace(name_in(path), path);
  if (base::file_exists(spec) && !gguf::is_gguf(spec)) {
    files.erase("tokenizer.json");
    files[weights::name_of_tokenizer_file(spec)] = spec;
  }
  return files;
}

// The eos_token of the tokenizer_config.json among them; "" when there is none.
std::string end_mark_of(const std::map<std::string, std::string>& texts) {
  const auto place = texts.find("tokenizer_config.json");
  if (place == texts.end()) return "";
  const nlohmann::json config = base::parse_json(place->second, place->first);
  if (!config.is_object() || !config.contains("eos_token")) return "";
  const nlohmann::json& token = config["eos_token"];
  const nlohmann::json content = token.is_object() ? token.value("content", nlohmann::json()) : token;
  return content.is_string() ? content.get<std::string>() : "";
}

// The id of a token that the tokenizer has as one; -1: it has none such.
std::int64_t id_of_added_token(const std::map<std::string, std::string>& texts, const std::string& content) {
  const auto place = texts.find("tokenizer.json");
  if (place == texts.end()) return -1;
  const nlohmann::json tokenizer = base::parse_json(place->second, place->first);
  const nlohmann::json tokens = tokenizer.is_object() ? tokenizer.value("added_tokens", nlohmann::json()) : tokenizer;
  for (const nlohmann::json& token : tokens) {
    if (token.is_object() && token.value("content", nlohmann::json()) == content &&
        token.value("id", nlohmann::json()).is_number_integer())
      return token["id"].get<std::int64_t>();
  }
  return -1;
}

// The keys stay in their order.
void set_in_json(const std::string& key, const nlohmann::ordered_json& value, std::string* text) {
  nlohmann::ordered_json object = nlohmann::ordered_json::parse(*text);
  if (object.value(key, nlohmann::ordered_json()) == value) return;
  object[key] = value;
  *text = object.dump(2) + "\n";
}

// One that is none cannot be used, which is told before a training, and stays as it is.
bool is_object(const std::string& text) {
  try {
    return base::parse_json(text, "a file of the model").is_object();
  } catch (const base::DataError&) {
    return false;
  }
}

// The ids that generation_config.json, else config.json, has for the end of a text, and this one behind them.
nlohmann::ordered_json end_ids(const std::map<std::string, std::string>& texts, std::int64_t id) {
  nlohmann::ordered_json ids = nlohmann::ordered_json::array();
  for (const char* name : {"generation_config.json", "config.json"}) {
    const auto place = texts.find(name);
    if (place == texts.end()) continue;
    if (!is_object(place->second)) continue;
    const nlohmann::json known = base::parse_json(place->second, name).value("eos_token_id", nlohmann::json());
    for (const nlohmann::json& one : known.is_array() ? known : nlohmann::json::array({known}))
      if (one.is_number_integer() && one != id) ids.push_back(one.get<std::int64_t>());
    if (!ids.empty()) break;
  }
  if (ids.empty()) return id;
  ids.push_back(id);
  return ids;
}

// A token that ends a text without a chat still does: its id stays in generation_config.json, and config.json agrees.
// False: the tokenizer's files do not allow it.
bool make_end_mark(const std::string& mark, std::map<std::string, std::string>* texts) {
  const std::int64_t id = id_of_added_token(*texts, mark);
  if (id < 0 || end_mark_of(*texts).empty()) return false;
  set_in_json("eos_token", mark, &texts->at("tokenizer_config.json"));
  const nlohmann::ordered_json ids = end_ids(*texts, id);
  for (const char* name : {"generation_config.json", "config.json"}) {
    const auto place = texts->find(name);
    if (place != texts->end() && is_object(place->second)) set_in_json("eos_token_id", ids, &place->second);
  }
  return true;
}

// Adds a template that a run was told to use, built in or a file; not where it is the tokenizer's own or gone.
void add_template(const std::string& choice, std::map<std::string, std::string>* texts, ExportReport* report) {
  constexpr const char* name = "chat_template.jinja";
  const data::BuiltInTemplate* built_in = data::find_built_in_template(choice);
  if (built_in == nullptr) {
    if (base::file_exists(choice)) (*texts)[name] = base::read_file(choice);
    return;
  }
  (*texts)[name] = built_in->source;
  const std::string end_mark(built_in->end_mark), before = end_mark_of(*texts);
  if (end_mark.empty()) return;
  const bool made = make_end_mark(end_mark, texts);
  if (before == end_mark) return;
  report->notes.push_back(
      made ? base::say(
                 "answers in the run's chat template {} end with {}: tokenizer_config.json sets it as eos_token, instead of the base model's {}, so that chats stop there",
                 choice, end_mark, before)
           : base::say(
                 "answers in the run's chat template {} end with {}, which is neither the eos_token in tokenizer_config.json nor a single token in tokenizer.json: configure the chat program to stop at that text",
                 choice, end_mark));
}

// Programs that do not read tokenizer.model get its tokenizer.json.
void add_tokenizer_json(const std::string& model, std::map<std::string, std::string>* texts, ExportReport* report) {
  if (texts->count("tokenizer.json") != 0) return;
  try {
    for (auto& file : tokenizer::tokenizer_files(tokenizer::load_sentencepiece(model))) texts->insert(std::move(file));
  } catch (const base::DataError& error) {
    report->notes.push_back(base::text_of(error));
  }
}

base::Text without_tokenizer(const std::string& spec) {
  if (spec == config::bytes_tokenizer)
    return base::say("the model reads bytes, which need no tokenizer files");
  if (spec.empty()) return base::say("no tokenizer was found beside the model; --tokenizer DIR includes one");
  return base::say(
      "the model's tokenizer.json is no longer at '{}'; --tokenizer DIR includes one", spec);
}

}  // namespace

void check_tokenizer(const ExportArguments& request) {
  const std::string& tokenizer = request.tokenizer;
  if (!tokenizer.empty() && tokenizer != config::bytes_tokenizer && !base::file_exists(tokenizer) &&
      !config::has_tokenizer(tokenizer))
    throw base::ConfigError(base::say("there is no tokenizer.json or tokenizer.model in '{}' (--tokenizer); check the path", tokenizer));
}

std::map<std::string, std::string> other_files(const Belongings& source, const ExportArguments& request,
                                               std::map<std::string, std::string> texts, ExportReport* report) {
  const auto files = auxiliary_files(source, request.tokenizer);
  for (const auto& [name, path] : files) texts[name] = gguf::read_file(path);
  if (const auto model = files.find("tokenizer.model"); model != files.end()) add_tokenizer_json(model->second, &texts, report);
  add_template(source.chat_template, &texts, report);
  if (texts.count("tokenizer.json") == 0)
    report->notes.push_back(without_tokenizer(request.tokenizer.empty() ? source.tokenizer : request.tokenizer));
  return texts;
}

void write_other_files(const Belongings& source, const ExportArguments& request,
                       std::map<std::string, std::string> texts, const std::string& folder, ExportReport* report) {
  for (const auto& [name, text] : other_files(source, request, std::move(texts), report)) {
    base::write_file_atomic(folder + "/" + name, text);
    report->files.push_back(name);
  }
}

}  // namespace troika::commands
