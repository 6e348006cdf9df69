#include <fmt/format.h>


#include "base/cause.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "data/ordered_map.h"
#include "data/prepare.h"

namespace troika::data {
namespace {

std::string cache_key(const Corpus& corpus, const Encoding& encoding, const TokenizeOptions& options) {
  return base::hash_bytes(fmt::format("sequences 4 {} {} {} {} {} {} {} {}", encoding.tokenizer.fingerprint(),
                                      encoding.chat_template.fingerprint(), static_cast<int>(encoding.loss_on),
                                      word_of(encoding.control_tokens), describe(encoding.shape),
                                      static_cast<int>(options.equal), options.max_records, corpus_hash(corpus)));
}

// Chunks in order -> the file.
class RecordSink {
 public:
  RecordSink(SequenceWriter* writer, const TokenizeOptions& options) : writer_(writer), options_(options) {}

  void add(const EncodedRecords& records) {
    std::size_t sequence = 0, at = 0, record = 0;
    auto finding = records.findings.begin();
    for (const std::uint32_t sequences : records.sequences_of_record) {
      if (full()) return;
      ++counts_.records;
      if (finding != records.findings.end() && finding->first == record++) findings_.add((finding++)->second);
      bool answered = false;
      for (const std::size_t end = sequence + sequences; sequence < end; at += records.lengths[sequence++])
        answered |= add_sequence(&records.ids[at], &records.has_loss[at], records.lengths[sequence]);
      counts_.without_answer += answered ? 0 : 1;
    }
  }
  bool full() const { return options_.max_records > 0 && counts_.records == options_.max_records; }
  const SequenceCounts& counts() const { return counts_; }
  const Findings& findings() const { return findings_; }

 private:
  bool add_sequence(const std::int32_t* ids, const std::uint8_t* has_loss, std::size_t length) {
    if (!is_taught(has_loss, length)) return false;
    if (options_.equal == Equal::first_kept && !filter_.keeps(key_of(ids, has_loss, length), true)) {
      ++counts_.duplicates;
    } else {
      writer_->append(ids, has_loss, static_cast<std::int64_t>(length));
    }
    return true;
  }

  DocumentKey key_of(const std::int32_t* ids, const std::uint8_t* has_loss, std::size_t length) {
    key_bytes_.assign(reinterpret_cast<const char*>(ids), sizeof *ids * length);
    key_bytes_.append(reinterpret_cast<const char*>(has_loss), length);
    return document_key(key_bytes_);
  }

  SequenceWriter* writer_;
  const TokenizeOptions options_;
  SequenceCounts counts_;
  Findings findings_;
  DocumentFilter filter_;
  std::string key_bytes_;
};

void tokenize(const Corpus& corpus, const Encoding& encoding, const std::string& path, const TokenizeOptions& options,
              const PartStore& parts, const OnProgress& on_progress) {
  SequenceWriter writer(path, encoding.tokenizer.vocab_size());
  RecordSink sink(&writer, options);
  ChunkReader reader(corpus, {});
  Progress progress{0, corpus.bytes};
  const auto write = [&](EncodedRecords&& records) {
    sink.add(records);
    progress.done_bytes += records.input_bytes;
    progress.parts_reused += records.reused ? 1 : 0;
    progress.tokens = writer.counts().tokens;
    if (on_progress) on_progress(progress);
  };
  OrderedMap<Chunk, EncodedRecords>::run(
      worker_count(options.workers), [&] { return sink.full() ? std::nullopt : reader.next(); },
      [&](Chunk& chunk) { return encode_records(chunk, encoding, parts); }, write);
  if (writer.counts().sequences == 0) {
    const std::string& path_of_first = corpus.files.front().path;
    const base::DataError error(base::say("no record of '{1}' has an answer to train on, in {0} records read", sink.counts().records, path_of_first),
                                base::Cause::no_training_tokens);
    const std::vector<base::Text> found = sink.findings().report(path_of_first, encoding.control_tokens);
    throw found.empty() ? error : base::with_context(error, found.front());
  }
  writer.finish(sink.counts(), sink.findings());
}

// The cached file when it is there and sound.
std::shared_ptr<const SequenceFile> open_cached(const std::string& path) {
  if (!base::file_exists(path)) return nullptr;
  try {
    return std::make_shared<const SequenceFile>(path);
  } catch (const base::DataError&) {
    return nullptr;  // what a cache lost is made again
  }
}

}  // namespace

std::shared_ptr<const SequenceFile> tokenize_once(const Corpus& corpus, const Encoding& encoding,
                                                  const std::string& cache_folder, const TokenizeOptions& options,
                                                  const OnProgress& on_progress) {
  base::make_directories(cache_folder);
  const std::string name = cache_key(corpus, encoding, options) + ".sequences", path = cache_folder + "/" + name;
  const auto make = [&](const OnProgress& tell) {
    remove_abandoned(cache_folder, name + ".tmp.");
    PartsOfJob parts(path + ".parts");
    parts.run([&](const PartStore& store) { tokenize(corpus, encoding, path, options, store, tell); });
  };
  std::shared_ptr<const SequenceFile> file;
  make_once(path, [&] { return (file = open_cached(path)) != nullptr; }, make, on_progress);
  return file != nullptr ? file : std::make_shared<const SequenceFile>(path);  // says what is wrong with it
}

}  // namespace troika::data
