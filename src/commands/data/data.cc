#include "commands/data/data.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "commands/data/encode.h"
#include "commands/data/inspect.h"
#include "commands/data/inspect_samples.h"
#include "commands/data/shown_progress.h"
#include "commands/own_flags.h"
#include "data/bpe_trainer.h"
#include "data/prepare.h"
#include "data/shard_index.h"
#include "data/tokenizer_json.h"

namespace troika::commands {

namespace {
struct DataArguments {
  std::vector<std::string> inputs;
  std::string folder;       // of inspect
  std::string ids = "-";    // of decode
  bool statistics = false;  // of encode
  bool json_lines = false;  // of decode
  std::string tokenizer;
  std::string out;
  std::string text_key = "text";
  std::int64_t vocab = 8192;
  std::int64_t workers = 0;
  std::int64_t samples = 0;
};
}  // namespace

static std::string run_prepare(const DataArguments& given, std::FILE* progress) {
  const auto tokenizer = data::open_tokenizer(given.tokenizer);
  const data::OnProgress show = shown_progress("tokenizing", progress);
  data::PrepareOptions options;
  options.text_key = given.text_key;
  options.workers = given.workers;
  const double start = base::monotonic_seconds();
  const data::PrepareReport report = data::prepare(given.inputs, *tokenizer, given.out, options, show);
  const double seconds = base::monotonic_seconds() - start;
  if (report.reused) {
    return fmt::format("'{}' already holds this data: {} tokens in {} documents\n", given.out, report.tokens,
                       report.documents);
  }
  return fmt::format(
      "{} tokens in {} documents from {} in {}, {} shard{} in '{}'; left out: {} duplicate documents, {} binary "
      "files\n",
      report.tokens, report.documents, base::format_bytes(report.bytes), base::format_duration(seconds), report.shards,
      report.shards == 1 ? "" : "s", given.out, report.duplicate_documents, report.binary_files);
}

static std::string run_tokenizer(const DataArguments& given, std::FILE* progress) {
  const data::OnProgress show = shown_progress("counting words", progress);
  data::BpeTrainerOptions options;
  options.vocab_size = given.vocab;
  options.workers = given.workers;
  options.text_key = given.text_key;
  const double start = base::monotonic_seconds();
  const data::BpeModel model = data::train_bpe_on_files(given.inputs, options, show);
  data::save_tokenizer(model, given.out);
  std::string text = fmt::format("a vocabulary of {} tokens in '{}', trained in {}\n", model.tokens.size(), given.out,
                                 base::format_duration(base::monotonic_seconds() - start));
  if (static_cast<std::int64_t>(model.tokens.size()) < given.vocab) {
    text += fmt::format("fewer than the {} asked for: no further pair of tokens stands together twice in this text\n",
                        given.vocab);
  }
  return text;
}

static std::string run_encode(const DataArguments& given, std::FILE* out) {
  const EncodeOptions options{given.tokenizer, given.text_key, given.workers};
  if (given.statistics) return encode_statistics(given.inputs, options);
  encode_texts(given.inputs, options, out);
  return "";
}

static std::string run_decode(const DataArguments& given, std::FILE* out) {
  decode_ids(given.ids, given.tokenizer, given.json_lines ? DecodedForm::json_lines : DecodedForm::bytes, out);
  return "";
}

static void add_inputs(CLI::App* verb, DataArguments* given) {
  verb->add_option("input", given->inputs, "text files, .jsonl files, folders of them")->required();
  verb->add_option("--workers", given->workers, "threads; 0: all cores. The result does not depend on it")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--text-key", given->text_key, "member of a JSON line that holds the text")->capture_default_str();
}

static void add_out(CLI::App* verb, DataArguments* given) {
  verb->add_option("--out", given->out, "folder to write")->required();
}

static void add_tokenizer(CLI::App* verb, DataArguments* given) {
  verb->add_option("--tokenizer", given->tokenizer, "bytes, a folder with tokenizer.json, or the file")->required();
}

static void add_encode_and_decode(CLI::App* app, DataArguments* given) {
  CLI::App* encode = app->add_subcommand("encode", "print token ids: one JSON array per document");
  add_inputs(encode, given);
  add_tokenizer(encode, given);
  encode->add_flag("--stats", given->statistics, "instead of the ids: how many tokens, how fast");
  CLI::App* decode = app->add_subcommand("decode", "print the text that token ids stand for");
  decode
      ->add_option("ids", given->ids, "file with a line of ids per document, as encode prints them; -: standard input")
      ->capture_default_str();
  add_tokenizer(decode, given);
  decode->add_flag("--jsonl", given->json_lines, "one {\"text\": ...} per line of ids instead of the bytes alone");
}

// Whether it is about settings of train, not about shards.
static bool inspects_samples(const std::vector<std::string>& arguments) {
  return !arguments.empty() && arguments[0] == "inspect" &&
         (arguments.size() == 1 || !data::looks_like_shards(arguments[1]));
}

static int run_inspect(Words words, std::FILE* out, std::FILE* progress, const config::Environment& environment) {
  words.erase(words.begin());
  const bool help = take_word(words, "--help"), short_help = take_word(words, "-h");
  if (help || short_help) {
    std::fputs(inspect_usage, out);
    return 0;
  }
  inspect_samples(words, environment, out, progress);
  return 0;
}

int run_data(const std::vector<std::string>& arguments, std::FILE* out, std::FILE* progress,
             const config::Environment& environment) {
  if (inspects_samples(arguments)) return run_inspect(arguments, out, progress, environment);
  DataArguments given;
  CLI::App app("Text to token shards and tokenizers.", "troika data");
  app.require_subcommand(1);
  CLI::App* prepare = app.add_subcommand("prepare", "tokenize text into shards, exact duplicates once");
  add_inputs(prepare, &given);
  add_out(prepare, &given);
  add_tokenizer(prepare, &given);
  CLI::App* tokenizer = app.add_subcommand("tokenizer", "learn a byte-level BPE vocabulary from text");
  add_inputs(tokenizer, &given);
  add_out(tokenizer, &given);
  tokenizer->add_option("--vocab", given.vocab, "tokens, the 256 bytes and <|endoftext|> among them")
      ->capture_default_str();
  CLI::App* inspect = app.add_subcommand("inspect", "show what a run would train on, or what shards hold");
  inspect->add_option("folder", given.folder, "a folder of shards, or one .bin file")->required();
  inspect->add_option("--samples", given.samples, "documents to show")->check(CLI::NonNegativeNumber);
  inspect->add_option("--tokenizer", given.tokenizer, "shows the documents as text");
  add_encode_and_decode(&app, &given);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), out);
    return 0;
  } catch (const CLI::ParseError& error) {
    throw base::ConfigError(fmt::format("troika data: {}; 'troika data --help' shows the arguments", error.what()));
  }
  const std::string text = prepare->parsed()              ? run_prepare(given, progress)
                           : tokenizer->parsed()          ? run_tokenizer(given, progress)
                           : app.got_subcommand("encode") ? run_encode(given, out)
                           : app.got_subcommand("decode")
                               ? run_decode(given, out)
                               : inspect_shards(given.folder, given.samples, given.tokenizer);
  std::fputs(text.c_str(), out);
  return 0;
}

}  // namespace troika::commands
