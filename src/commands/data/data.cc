#include "commands/data/data.h"

#include <fmt/format.h>

#include <map>

#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
#include "commands/data/arguments.h"
#include "commands/data/encode.h"
#include "commands/data/inspect.h"
#include "commands/data/inspect_samples.h"
#include "commands/data/shown_progress.h"
#include "commands/data/tokenizer_folder.h"
#include "commands/stop_signals.h"
#include "data/corpus_bpe.h"
#include "data/prepare.h"
#include "data/shard_index.h"

namespace troika::commands {
namespace {

struct Streams {
  std::FILE* out;
  std::FILE* progress;
};

// The arguments of a part, read with its table.
template <class Arguments>
Arguments read(config::FlagTable (*flags)(Arguments&), const Words& words) {
  Arguments a;
  const config::FlagTable table = flags(a);
  config::read_flags({&table}, words).finish();
  return a;
}

std::string note_of_encodings(const std::vector<std::string>& files) {
  if (files.empty()) return "";
  const auto count = static_cast<std::int64_t>(files.size());
  return fmt::format("note: {} {} not UTF-8 and tokenized byte by byte ('{}'{}): convert with iconv what is text\n",
                     base::counted(count, "file"), count == 1 ? "is" : "are", files.front(), count == 1 ? "" : ", ...");
}

std::string others_left_out(const data::LeftOut& left_out) {
  const std::string others = left_out.text_beside_binary().in(base::Language::english);
  return (others.empty() ? "" : ", ") + others;
}

// Bytes that no token spells; nothing where there are none.
std::string dropped(std::int64_t bytes, const tokenizer::Tokenizer& tokenizer) {
  if (bytes == 0) return "";
  return fmt::format(", {} (the vocabulary has no token for {} of the 256)", base::counted(bytes, "byte"),
                     tokenizer.lacking_bytes());
}

std::string prepared(const PrepareArguments& given, std::FILE* progress) {
  const auto tokenizer = tokenizer::open_tokenizer(given.tokenizer);
  const data::OnProgress show = shown_progress("tokenizing", progress);
  data::PrepareOptions options;
  options.text_key = given.text_key;
  options.workers = given.workers;
  const double start = base::monotonic_seconds();
  const data::PrepareReport report = data::prepare(given.inputs, *tokenizer, given.out, options, show);
  const double seconds = base::monotonic_seconds() - start;
  if (report.reused) {
    return fmt::format("'{}' already holds this data: {} in {}\n", given.out, base::counted(report.tokens, "token"),
                       base::counted(report.documents, "document"));
  }
  return fmt::format("{} in {} from {} in {}, {} in '{}'; left out: {}, {}", base::counted(report.tokens, "token"),
                     base::counted(report.documents, "document"), base::format_bytes(report.bytes),
                     base::format_duration(seconds), base::counted(report.shards, "shard"), given.out,
                     base::counted(report.duplicate_documents, "duplicate document"),
                     base::counted(report.left_out.count(data::Why::binary), "binary file")) +
         others_left_out(report.left_out) + dropped(report.dropped_bytes, *tokenizer) + "\n" +
         note_of_encodings(report.not_utf8);
}

std::string trained_tokenizer(const TokenizerArguments& given, std::FILE* progress) {
  check_tokenizer_folder(given.out, given.vocab);
  const data::OnProgress show = shown_progress("counting words", progress);
  tokenizer::BpeTrainerOptions options;
  options.vocab_size = given.vocab;
  options.workers = given.workers;
  options.text_key = given.text_key;
  const double start = base::monotonic_seconds();
  const auto [model, left_out_bytes] = data::train_bpe_on_files(given.inputs, options, show);
  const double seconds = base::monotonic_seconds() - start;
  std::string text =
      save_tokenizer_once(model, given.out) == Saved::before
          ? fmt::format("'{}' already holds this tokenizer: {} tokens\n", given.out, model.tokens.size())
          : fmt::format("a vocabulary of {} tokens in '{}', trained in {}\n", model.tokens.size(), given.out,
                        base::format_duration(seconds));
  const bool fewer = static_cast<std::int64_t>(model.tokens.size()) < given.vocab;
  if (fewer) {
    text += fmt::format("fewer than the {} asked for: no further pair of tokens stands together twice in this text\n",
                        given.vocab);
  }
  if (left_out_bytes > 0) {
    text += fmt::format("{} were not counted: of different pieces without a break that are longer than 256 bytes, the "
                        "first {} are\n",
                        base::format_bytes(left_out_bytes),
                        base::format_bytes(static_cast<std::int64_t>(options.most_long_bytes)));
  }
  return text;
}

void run_prepare(const Call& call, const Streams& to) {
  const StopSignals signals({"troika: stopped; the same command continues where it stood\n", ""});
  std::fputs(prepared(read(prepare_flags, call.words), to.progress).c_str(), to.out);
}

void run_tokenizer(const Call& call, const Streams& to) {
  std::fputs(trained_tokenizer(read(tokenizer_flags, call.words), to.progress).c_str(), to.out);
}

void run_encode(const Call& call, const Streams& to) {
  const EncodeArguments a = read(encode_flags, call.words);
  const EncodeOptions options{a.tokenizer, a.text_key, a.workers};
  if (a.statistics) {
    std::fputs(encode_statistics(a.inputs, options).c_str(), to.out);
  } else {
    encode_texts(a.inputs, options, to.out);
  }
}

void run_decode(const Call& call, const Streams& to) {
  const DecodeArguments a = read(decode_flags, call.words);
  decode_ids(a.ids, a.tokenizer, a.json_lines ? DecodedForm::json_lines : DecodedForm::bytes, to.out);
}

// SHARDS is the first word; all else is about the samples of a run with the settings of train.
void inspect(const Call& call, base::Language language, const Streams& to) {
  if (call.words.empty() || !data::looks_like_shards(call.words.front()))
    return inspect_samples(call.words, call.environment, language, to.out, to.progress);
  InspectArguments a;
  const config::FlagTable table = inspect_flags(a);
  config::FlagReading reading = config::read_flags({&table}, {call.words.begin() + 1, call.words.end()});
  for (const char* name : {"sample", "ids", "color"}) {
    if (reading.states(name)) reading.refuse(base::say("--{} is for the samples of a run; leave it out with prepared shards", name));
  }
  reading.finish();
  std::fputs(inspect_shards(call.words.front(), a.samples.value_or(0), a.tokenizer, language).c_str(), to.out);
}

void run_inspect(const Call& call, const Streams& to) {
  inspect(call, call.language, to);
}

}  // namespace

int run_data(const Call& call, std::FILE* out, std::FILE* progress) {
  static const std::map<std::string_view, void (*)(const Call&, const Streams&)> runs = {{"prepare", run_prepare},
                                                                                         {"tokenizer", run_tokenizer},
                                                                                         {"encode", run_encode},
                                                                                         {"decode", run_decode},
                                                                                         {"inspect", run_inspect}};
  runs.at(call.part->name)(call, {out, progress});
  return 0;
}

}  // namespace troika::commands
