#include "train/tokenizer_copies.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "checkpoint/disks.h"
#include "checkpoint/gather.h"
#include "comm/collectives.h"
#include "config/huggingface/model_folder.h"
#include "data/chat_template.h"
#include "gguf/model_files.h"
#include "weights/weights_folder.h"

namespace troika::train {
namespace {

using nlohmann::json;
using Texts = TokenizerCopies::Texts;

constexpr const char* template_name = "chat_template.jinja";

// The folder with the copies that a resume uses on this host; "" when there is none.
std::string folder_of_copies(const config::Settings& s) {
  const auto resume = config::word_or(s.train.resume, config::Resume::path);
  if (resume == config::Resume::never || s.train.out.empty()) return "";
  const std::string model = resume == config::Resume::path
                                ? s.train.resume + "/model"
                                : config::newest_checkpoint_model(s.train.out + "/checkpoints");
  if (!weights::auxiliary_files_in(model).empty()) return model;
  const bool gone = s.data.tokenizer != config::bytes_tokenizer && !gguf::file_exists(config::tokenizer_file(s.data.tokenizer));
  return gone ? s.train.out + "/tokenizer" : "";
}

std::string hashes_of(const Texts& texts) {
  json hashes = json::object();
  for (const auto& [name, text] : texts) hashes[name] = base::hash_bytes(text);
  return hashes.dump();
}

// Whether a disk ("": a rank that does not lead one) has another file of that name than rank 0, or none.
bool differs_somewhere(const std::vector<json>& hashes, const std::string& name) {
  return std::any_of(hashes.begin(), hashes.end(), [&](const json& one) {
    return !one.is_null() && (!one.contains(name) || one[name] != hashes[0][name]);
  });
}

// Collective. Every disk's leader then has the texts of rank 0.
void take_those_of_first_rank(Texts* texts, comm::Channel& world, const std::vector<std::string>& gathered) {
  std::vector<json> hashes;
  for (const std::string& text : gathered)
    hashes.push_back(text.empty() ? json() : base::parse_json(text, "the tokenizer files of a rank"));
  Texts all;
  for (const auto& item : hashes[0].items()) {
    const std::string& name = item.key();
    if (differs_somewhere(hashes, name)) {
      const std::string mine = world.rank() == 0 ? texts->at(name) : "";
      all[name] = comm::all_gather_text(world, mine)[0];
    } else if (const auto place = texts->find(name); place != texts->end()) {
      all[name] = std::move(place->second);
    }
  }
  *texts = std::move(all);
}

// Without texts the folder is left alone: a run on bytes has no copies, and the files there may be the user's.
void write_changes(const std::string& folder, const Texts& texts) {
  if (texts.empty()) return;
  for (const std::string& name : base::list_directory(folder))
    if (weights::is_auxiliary_file(name) && texts.count(name) == 0) base::remove_tree(folder + "/" + name);
  base::make_directories(folder);
  for (const auto& [name, text] : texts) {
    const std::string path = folder + "/" + name;
    if (!base::file_exists(path) || base::hash_file(path) != base::hash_bytes(text))
      base::write_file_atomic(path, text);
  }
}

}  // namespace

config::DataSettings with_copies_of_run(const config::Settings& settings) {
  config::DataSettings data = settings.data;
  const std::string folder = folder_of_copies(settings);
  if (folder.empty()) return data;
  if (data.tokenizer != config::bytes_tokenizer && config::has_tokenizer(folder))
    data.tokenizer = config::tokenizer_beside(folder);
  const std::string copy = folder + "/" + template_name;
  if (data::names_template_file(data.chat_template) && !base::file_exists(data.chat_template) &&
      base::file_exists(copy)) {
    config::check_model_file(folder, template_name);
    data.chat_template = copy;
  }
  return data;
}

base::Text replaced_tokenizer(const config::DataSettings& stated, const config::DataSettings& used) {
  const std::string file = config::tokenizer_file(stated.tokenizer);
  if (used.tokenizer == stated.tokenizer) return {};
  if (!gguf::file_exists(file))
    return base::say("data.tokenizer '{}' has no tokenizer; using the run's own copy in '{}'",
                     stated.tokenizer, used.tokenizer);
  if (gguf::hash_file(file) == gguf::hash_file(config::tokenizer_file(used.tokenizer))) return {};
  return base::say(
      "the run resumes with its own tokenizer in '{}', which differs from the one at data.tokenizer '{}'; to train with that one, start over with --resume never or another --out",
      used.tokenizer, stated.tokenizer);
}

TokenizerCopies::TokenizerCopies(const std::string& out, const std::function<Texts()>& texts, comm::Channel& world) {
  const std::string checkpoints = out + "/checkpoints";
  checkpoint::agree(world, [&] { base::make_directories(checkpoints); });
  const bool leads = checkpoint::detect_disks(checkpoints, world).leads(world.rank());
  const auto gathered = checkpoint::gather(world, [&]() -> std::string {
    if (!leads) return "";
    texts_ = texts();
    return hashes_of(texts_);
  });
  take_those_of_first_rank(&texts_, world, gathered);
  if (!leads) texts_.clear();
  checkpoint::agree(world, [&] {
    if (leads) write_changes(out + "/tokenizer", texts_);
  });
}

std::vector<checkpoint::ModelFile> TokenizerCopies::files() const {
  std::vector<checkpoint::ModelFile> all;
  for (const auto& [name, text] : texts_) all.push_back({name, text});
  return all;
}

}  // namespace troika::train
