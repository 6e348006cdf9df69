#include "commands/generate/generate.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/tokenizer.h"
#include "tensor/device.h"
#include "train/generate.h"

namespace troika::commands {
namespace {

struct Options {
  std::string path, prompt, prompt_file, tokenizer;
  train::GenerateRequest request;
  int threads = 0;
};

void declare(CLI::App& app, Options& o) {
  app.add_option("path", o.path, "a run folder (its newest checkpoint is used) or a checkpoint folder")->required();
  app.add_option("--prompt", o.prompt,
                 "text to continue; without it, the tokenizer's end-of-document mark starts a new text");
  app.add_option("--prompt-file", o.prompt_file, "read the prompt from a file");
  app.add_option("--max-new-tokens,--tokens", o.request.new_tokens, "tokens to draw (default 100)")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--temperature", o.request.sampling.temperature,
                 "1: as trained; lower: likelier; 0: always the likeliest (default 1)")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--top-k", o.request.sampling.top_k, "draw from the k likeliest tokens only; 0: all (default 0)")
      ->check(CLI::Range(0, 10000000));
  app.add_option("--top-p", o.request.sampling.top_p,
                 "draw from the likeliest tokens that together reach p (default 1)")
      ->check(CLI::Range(0.000001, 1.0));
  app.add_option("--seed", o.request.sampling.seed, "the same seed gives the same text (default 1)");
  app.add_option("--data.tokenizer,--tokenizer", o.tokenizer,
                 "bytes, a folder with tokenizer.json, or the file; default: as trained");
  app.add_option("--threads", o.threads, "threads of the computation; 0: all cores (default 0)")
      ->check(CLI::Range(0, 4096));
}

// CLI11 writes options with dashes only; a user may write underscores.
std::vector<std::string> with_dashes(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument.rfind("--", 0) != 0) continue;
    for (std::size_t i = 2; i < argument.size() && argument[i] != '='; ++i) {
      if (argument[i] == '_') argument[i] = '-';
    }
  }
  return arguments;
}

// Prints whole UTF-8 characters only: a token may end inside one.
class Printer {
 public:
  void add(const std::string& bytes) {
    pending_ += bytes;
    const std::size_t whole = whole_characters();
    std::fwrite(pending_.data(), 1, whole, stdout);
    std::fflush(stdout);
    pending_.erase(0, whole);
  }
  void finish() {
    std::fwrite(pending_.data(), 1, pending_.size(), stdout);
    std::fputc('\n', stdout);
  }

 private:
  std::size_t whole_characters() const {
    for (std::size_t back = 1; back <= 3 && back <= pending_.size(); ++back) {
      const auto byte = static_cast<unsigned char>(pending_[pending_.size() - back]);
      if (byte < 0x80) break;
      if (byte >= 0xC0)
        return (byte >= 0xF0 ? 4u : byte >= 0xE0 ? 3u : 2u) > back ? pending_.size() - back : pending_.size();
    }
    return pending_.size();
  }
  std::string pending_;
};

}  // namespace

int run_generate(const std::vector<std::string>& arguments, const std::map<std::string, std::string>&) {
  Options o;
  CLI::App app("continues a text with a trained checkpoint", "troika generate");
  declare(app, o);
  std::vector<std::string> reversed = with_dashes(arguments);
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    throw base::ConfigError(std::string(error.what()) + "; see troika generate --help");
  }
  if (o.threads > 0) tensor::set_threads(o.threads);
  o.request.found = checkpoint::open_local(o.path);
  const auto saved = o.request.found.facts.extra.find("tokenizer");
  if (o.tokenizer.empty() && saved != o.request.found.facts.extra.end()) o.tokenizer = saved->second;
  const auto tokenizer = data::open_tokenizer(o.tokenizer.empty() ? "bytes" : o.tokenizer);
  if (!o.prompt_file.empty()) o.prompt = base::read_file(o.prompt_file);
  o.request.prompt = tokenizer->encode(o.prompt);
  o.request.vocab = tokenizer->vocab_size();
  o.request.stop_id = tokenizer->end_of_document_id();
  if (o.request.prompt.empty() && o.request.stop_id >= 0) o.request.prompt = {o.request.stop_id};

  Printer printer;
  printer.add(o.prompt);
  train::generate(o.request, [&](std::int32_t id) { printer.add(tokenizer->id_to_bytes(id)); });
  printer.finish();
  return 0;
}

}  // namespace troika::commands
