#include "data/opened_source.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "data/prepare.h"
#include "data/sequence_samples.h"
#include "data/sequences.h"
#include "data/shard_index.h"
#include "data/source_shape.h"
#include "data/token_stream.h"
#include "data/tokenize_once.h"
#include "data/tokenized_lines.h"

namespace troika::data {
namespace {

std::string counted(std::int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::shared_ptr<const TokenStream> open_stream(const Source& source, JsonFiles json_files, const Opening& opening) {
  if (looks_like_shards(source.path)) return open_shards(source.path, opening.tokenizer);
  PrepareOptions options;
  options.text_key = source.text_key;
  options.workers = opening.settings.workers;
  options.max_documents = source.max_samples;
  options.json_files = json_files;
  return prepare_once({source.path}, opening.tokenizer, opening.cache, options, opening.on_progress);
}

OpenedSource open_text(const Source& source, JsonFiles json_files, const Opening& opening) {
  const auto stream = open_stream(source, json_files, opening);
  OpenedSource opened{nullptr, stream->vocab_size(), stream->tokens(), 0, {}};
  if (opening.reading == Reading::training) {
    opened.samples = std::make_shared<const TokenSamples>(stream, opening.seq_len);
  } else {
    opened.samples = std::make_shared<const TokenWindows>(stream, opening.seq_len);
  }
  opened.report = {fmt::format("'{}': text, {} in {}, {} of {} ids", source.name, counted(stream->tokens(), "token"),
                               counted(stream->documents(), "document"), counted(opened.samples->samples(), "sample"),
                               opening.seq_len)};
  if (opening.settings.packing)
    opened.report.push_back(fmt::format("'{}': data.packing has no effect, its samples are full already", source.name));
  if (const std::int64_t bytes = stream->unverified_bytes(); bytes > 0)
    opened.report.push_back(fmt::format(
        "note: {} in '{}' have no hashes of their pieces, so damage shows only where an id is beyond the "
        "vocabulary; 'troika data prepare' with the same input and --out checks them once and adds the hashes",
        base::format_bytes(bytes), stream->path()));
  if (source.max_samples > 0 && looks_like_shards(source.path))
    opened.report.push_back(fmt::format("'{}': data.max_samples is ignored for prepared shards", source.name));
  return opened;
}

// Several to a sample, or one.
void arrange(std::shared_ptr<const Sequences> sequences, const Source& source, const Opening& opening,
             OpenedSource* opened) {
  const std::int64_t count = sequences->count();
  const auto take = [&](const auto& samples) {
    opened->tokens = samples->tokens();
    opened->truncated = samples->truncated();
    opened->samples = samples;
  };
  if (!opening.settings.packing)
    return take(std::make_shared<const PaddedSamples>(std::move(sequences), opening.seq_len, source.name));
  const auto packed = std::make_shared<const PackedSamples>(std::move(sequences), opening.seq_len, source.name);
  take(packed);
  const double each = static_cast<double>(count) / static_cast<double>(packed->samples());
  opened->report.push_back(fmt::format("'{}': packed, {} of {} ids with {:.1f} sequences each, {:.1f} % full",
                                       source.name, counted(packed->samples(), "sample"), opening.seq_len, each,
                                       100 * packed->fill()));
}

void report_truncated(const Source& source, const Opening& opening, std::int64_t sequences, OpenedSource* opened) {
  if (opened->truncated == 0) return;
  opened->report.push_back(
      fmt::format("note: {} of {} samples in '{}' are longer than {} ids and are cut to that; a larger --seq-len keeps "
                  "them whole",
                  opened->truncated, sequences, source.name, opening.seq_len));
}

// `what` and `left_out` stand before and after the counts of the first line of the report.
OpenedSource open_sequences(WithTargets taught, const std::string& what, const std::string& left_out,
                            const Source& source, const Opening& opening) {
  const std::int64_t kept = taught.sequences->count();
  OpenedSource opened;
  arrange(std::move(taught.sequences), source, opening, &opened);
  const std::string counts =
      fmt::format("'{}': {}{} with {}, {} of them with loss{}", source.name, what, counted(kept, "sample"),
                  counted(opened.tokens, "token"), taught.targets, left_out);
  opened.report.insert(opened.report.begin(), counts);
  report_truncated(source, opening, kept, &opened);
  return opened;
}

OpenedSource open_tokenized(const Source& source, const Opening& opening) {
  const Corpus corpus = record_files(source);
  const CorpusFile& file = corpus.files.front();
  if (corpus.files.size() != 1 || file.kind == FileKind::json_array)
    throw base::DataError(fmt::format("'{}': token ids are read from one file with an object per line", source.path));
  const std::int64_t vocab = opening.vocab > 0 ? opening.vocab : opening.tokenizer.vocab_size();
  std::shared_ptr<const Sequences> lines = std::make_shared<const TokenizedLines>(file.path, vocab, opening.cache);
  if (source.max_samples > 0) lines = first_sequences(std::move(lines), source.max_samples);
  check_targets(*lines, opening.seq_len, source.name);
  const std::int64_t count = lines->count();
  WithTargets taught = with_targets(std::move(lines), opening.seq_len);
  const std::int64_t without = count - taught.sequences->count();
  const std::string left_out =
      without == 0 ? "" : fmt::format("; left out: {} without a label within {} ids", without, opening.seq_len);
  OpenedSource opened = open_sequences(std::move(taught), "token ids, ", left_out, source, opening);
  opened.vocab = vocab;
  return opened;
}

// What was left out, and why; "" when nothing was.
std::string left_out(const SequenceCounts& counts, std::int64_t behind, std::int64_t seq_len) {
  std::string text;
  const auto add = [&](std::int64_t count, const std::string& what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "; left out: " : ", ", count, what);
  };
  add(counts.duplicates, counts.duplicates == 1 ? "duplicate" : "duplicates");
  add(counts.without_answer, "without an answer");
  add(behind, fmt::format("whose answers begin after {} ids", seq_len));
  return text;
}

OpenedSource open_conversations(const Source& source, const RecordShape& shape, const Opening& opening) {
  Corpus corpus = record_files(source);
  corpus.scratch = opening.cache;
  const Encoding encoding{opening.tokenizer, opening.chat_template(), opening.settings.loss_on, shape};
  const Equal equal = opening.settings.dedup ? Equal::first_kept : Equal::all_kept;
  const auto file = tokenize_once(corpus, encoding, opening.cache,
                                  {opening.settings.workers, source.max_samples, equal}, opening.on_progress);
  const SequenceCounts& counts = file->counts();
  WithTargets taught = with_targets(file, opening.seq_len);
  const std::int64_t kept = taught.sequences->count();
  if (kept == 0)
    throw base::DataError(
        fmt::format("every answer of '{}' begins after {} ids: set a larger --seq-len", source.path, opening.seq_len));
  const std::string what = fmt::format("{}, {} as ", word_of(shape.format), counted(counts.records, "record"));
  OpenedSource opened = open_sequences(std::move(taught), what,
                                       left_out(counts, counts.sequences - kept, opening.seq_len), source, opening);
  opened.vocab = opening.tokenizer.vocab_size();
  return opened;
}

}  // namespace

OpenedSource open_source(const Source& source, const Opening& opening) {
  const SourceShape found = shape_of_source(source);
  switch (found.shape.format) {
    case Format::text:
      return open_text(source, found.json_files, opening);
    case Format::tokenized:
      return open_tokenized(source, opening);
    default:
      return open_conversations(source, found.shape, opening);
  }
}

}  // namespace troika::data
