#include "commands/export/export.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "checkpoint/listed.h"
#include "comm/self_channel.h"
#include "commands/export/adapter_folder.h"
#include "commands/export/model_folder.h"
#include "tensor/device.h"
#include "train/adapter_base.h"
#include "train/open_weights.h"

namespace troika::commands {
namespace {

struct Arguments {
  std::string from, base, most = "5GB";
  ExportRequest request;
  bool merge = false;
  int threads = 0;
};

void declare(CLI::App& app, Arguments& a) {
  app.add_option("from,--model.path", a.from,
                 "a run (its newest checkpoint), a checkpoint, a model folder or an adapter's folder");
  app.add_option("to", a.request.to, "the folder to be made; it must not exist, or be empty")->required();
  app.add_option(
         "--dtype", a.request.dtype,
         "of the weights: fp32, bf16, fp16, rounded to nearest; auto: that of the folder the run began from, else "
         "fp32, and fp32 for an adapter (default auto)")
      ->check(CLI::IsMember({"auto", "fp32", "bf16", "fp16"}));
  app.add_flag("--merge", a.merge, "add an adapter to its base and write the whole model, not the adapter alone");
  app.add_option("--model.base,--base", a.base, "the model beside an adapter; default: the one that the adapter names");
  app.add_option("--max-shard-size", a.most, "bytes of tensors in one file; more make several files (default 5GB)");
  app.add_option("--data.tokenizer,--tokenizer", a.request.tokenizer,
                 "a folder with tokenizer.json, which goes along; default: the model's own");
  app.add_option("--train.threads,--threads", a.threads, "threads that read; 0: all cores (default 0)")
      ->check(CLI::Range(0, 4096));
}

// CLI11 writes options with dashes only; a user may write underscores.
std::vector<std::string> with_dashes(std::vector<std::string> words) {
  for (std::string& word : words) {
    if (word.rfind("--", 0) != 0) continue;
    std::replace(word.begin() + 2, word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size())),
                 '_', '-');
  }
  return words;
}

void refuse_unknown(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) return;
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  const std::string flag = unknown.front().substr(0, unknown.front().find('='));
  const std::string near = flag.rfind("--", 0) == 0 ? base::nearest(flag, flags) : "";
  throw base::ConfigError(fmt::format("troika export has no place for '{}'{}; see troika export --help", flag,
                                      near.empty() ? "" : fmt::format(", did you mean '{}'?", near)));
}

// False after --help.
bool parse(const std::vector<std::string>& words, Arguments* a) {
  CLI::App app("writes a model as a folder that Hugging Face's tools load", "troika export");
  app.allow_extras();
  declare(app, *a);
  std::vector<std::string> reversed = with_dashes(words);
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    refuse_unknown(app);
    throw base::ConfigError(std::string(error.what()) + "; see troika export --help");
  }
  refuse_unknown(app);
  if (a->from.empty())
    throw base::ConfigError("name what to export and where to: troika export RUN DIR; see troika export --help");
  while (a->request.to.size() > 1 && a->request.to.back() == '/') a->request.to.pop_back();
  if (!base::parse_bytes(a->most, &a->request.most_bytes) || a->request.most_bytes < 1)
    throw base::ConfigError(fmt::format("--max-shard-size takes bytes such as 5GB or 500MiB, not '{}'", a->most));
  return true;
}

void refuse_without_adapter(const Arguments& a) {
  if (!a.merge && a.base.empty()) return;
  throw base::ConfigError(
      fmt::format("'{}' is a whole model without an adapter; leave {} out", a.from, a.merge ? "--merge" : "--base"));
}

// An adapter alone as an adapter's folder, all else as a model folder.
ExportReport write(const Arguments& a, comm::Channel& self) {
  train::Weights weights = train::open_weights(a.from, self);
  if (weights.adapter != nullptr && !a.merge) return write_adapter_folder(*weights.adapter, a.request, a.base);
  if (weights.adapter != nullptr)
    return write_model_folder(*train::merge_with_base(std::move(weights.adapter), a.base, self), a.request);
  refuse_without_adapter(a);
  return write_model_folder(*weights.model, a.request);
}

}  // namespace

int run_export(const std::vector<std::string>& arguments, const std::map<std::string, std::string>&) {
  Arguments a;
  if (!parse(arguments, &a)) return 0;
  if (a.threads > 0) tensor::set_threads(a.threads);
  const auto self = comm::make_self_channel("export");
  const ExportReport report = write(a, *self);
  if (!report.notes.empty()) std::fprintf(stderr, "note:%s\n", checkpoint::listed(report.notes).c_str());
  std::fputs(fmt::format("wrote {}: {} tensors, {} parameters in {}, {}\nfiles: {}\n", a.request.to, report.tensors,
                         base::format_count(report.parameters), report.dtype, base::format_bytes(report.bytes),
                         base::join(report.files, ", "))
                 .c_str(),
             stdout);
  return 0;
}

}  // namespace troika::commands
