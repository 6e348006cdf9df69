#include "data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/terminal_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "data/file_content.h"
#include "data/input_text.h"
#include "data/json_records.h"
#include "data/shard_index.h"

namespace troika::data {

namespace fs = std::filesystem;

static constexpr std::size_t looked_at_bytes = 8192;

bool is_run_folder(const std::string& path) {
  return base::file_exists(path + "/run.lock") || base::file_exists(path + "/launch.lock") ||
         (base::file_exists(path + "/config.yaml") && base::directory_exists(path + "/checkpoints"));
}

bool is_passed_over(const std::string& path) { return is_run_folder(path) || looks_like_shards(path); }

bool lies_in(const std::string& path, const std::string& folder) {
  std::error_code failed;
  const fs::path whole = fs::canonical(path, failed);
  if (failed) return false;
  const fs::path root = fs::canonical(folder, failed);
  if (failed) return false;
  return std::mismatch(root.begin(), root.end(), whole.begin(), whole.end()).first == root.end();
}

void refuse_special_file(const std::string& path) {
  std::error_code failed;
  const bool descriptor = path.rfind("/dev/fd/", 0) == 0 || path.rfind("/proc/self/fd/", 0) == 0;
  const fs::file_status status = fs::status(path, failed);
  if (fs::is_regular_file(status) || fs::is_directory(status) || (!fs::exists(status) && !descriptor)) return;
  const bool pipe = descriptor || fs::is_fifo(status);
  throw base::DataError(base::say(pipe ? base::Phrase("'{}' is a pipe, which can be read only once: write its text to a file and give that") : base::Phrase("'{}' is neither a file nor a folder: give a text file, a .jsonl file or a folder of them"), path));
}

namespace {

enum class Named { itself, by_folder };

// One input after the other.
class CorpusFinder {
 public:
  explicit CorpusFinder(JsonFiles json_files) : json_files_(json_files) {}

  void add(const std::string& input) {
    if (base::directory_exists(input)) return add_whole_folder(input);
    if (!base::file_exists(input)) {
      refuse_special_file(input);
      throw base::DataError(base::say("'{}' does not exist: give a text file, a .jsonl file, a folder of them, or a folder of token shards", input));
    }
    if (base::file_size(input) == 0) throw base::DataError(base::say("'{}' is empty: give a file that holds text", input));
    add_file(input, fs::path(input).filename().string(), Named::itself);
  }
  Corpus take() && { return std::move(corpus_); }

 private:
  void add_whole_folder(const std::string& path) {
    if (is_run_folder(path)) throw base::DataError(base::say("'{}' is a run folder, not a data folder: give the folder of the data, and give a run its own --out folder", path));
    root_ = path;
    binary_records_.reset();
    const std::size_t before = corpus_.files.size();
    add_folder(path, "");
    const auto first = corpus_.files.begin() + static_cast<std::ptrdiff_t>(before);
    const bool all_records =
        std::all_of(first, corpus_.files.end(), [](const CorpusFile& file) { return file.kind != FileKind::text; });
    const bool json_is_records = json_files_ == JsonFiles::records && all_records;
    if (binary_records_ && (json_is_records || always_lines(binary_records_->path)))
      throw base::DataError(describe(binary_records_->content, binary_records_->path));
    if (corpus_.files.size() > before) return;
    const base::Text left_out = corpus_.left_out.text();
    throw base::DataError(
        base::say("the folder '{}' holds no text files{}: give a folder with text or .jsonl files", path,
                  left_out.english.empty() ? base::Text{} : base::say(" (left out: {})", left_out)));
  }

  void add_folder(const std::string& path, const std::string& name) {
    for (const std::string& entry : base::list_directory(path)) {
      if (entry[0] == '.' || entry == "dataset_info.json") continue;
      const std::string below = path + "/" + entry, below_name = name.empty() ? entry : name + "/" + entry;
      if (const auto why = why_left_out(below)) {
        corpus_.left_out.add(*why, below_name);
      } else if (base::directory_exists(below)) {
        add_folder(below, below_name);
      } else {
        add_file(below, below_name, Named::by_folder);
      }
    }
  }

  // Judges an entry of a folder without a look into it.
  std::optional<Why> why_left_out(const std::string& path) const {
    std::error_code ignored;
    const bool folder = base::directory_exists(path);
    if (fs::is_symlink(path, ignored)) {
      if (!fs::exists(path, ignored)) return Why::link_nowhere;
      if (!lies_in(path, root_)) return Why::link_out;
      if (folder) return Why::linked_folder;
    }
    if (folder) {
      if (is_run_folder(path)) return Why::run;
      return looks_like_shards(path) ? std::optional(Why::shards) : std::nullopt;
    }
    if (!base::file_exists(path)) return Why::special;
    return base::file_size(path) == 0 ? std::optional(Why::empty) : std::nullopt;
  }

  void add_file(const std::string& path, const std::string& name, Named named) {
    const std::string first = first_text(path, looked_at_bytes);
    if (auto foreign = foreign_content(first, path)) return pass_over(std::move(*foreign), path, name, named);
    CorpusFile file{path, name, base::file_size(path), kind_of(path, first, named), has_byte_order_mark(first)};
    if (file.kind == FileKind::text && base::first_not_utf8(first) != std::string::npos)
      corpus_.not_utf8.push_back(name);
    corpus_.bytes += file.bytes;
    corpus_.files.push_back(std::move(file));
  }

  void pass_over(Foreign content, const std::string& path, const std::string& name, Named named) {
    if (named == Named::itself) throw base::DataError(describe(content, path));
    corpus_.left_out.add(content.kind == ForeignKind::encoding ? Why::encoding : Why::binary, name);
    const bool worse = !binary_records_ || (always_lines(path) && !always_lines(binary_records_->path));
    if (worse && named_like_records(path)) binary_records_ = BinaryRecords{std::move(content), path};
  }

  FileKind kind_of(const std::string& path, std::string_view first, Named named) const {
    if (always_lines(path)) return kind_of_json(first);
    const bool records = json_files_ == JsonFiles::records;
    if (separator_of(path) != '\0')
      return records || (named == Named::itself && json_files_ == JsonFiles::documents) ? FileKind::table
                                                                                        : FileKind::text;
    if (is_json(path)) return records ? kind_of_json(first) : FileKind::text;
    if (json_files_ == JsonFiles::as_text || (!records && named == Named::by_folder)) return FileKind::text;
    const FileKind found = kind_by_content(path, first);
    if (found == FileKind::text || records) return found;
    throw base::DataError(base::say("'{}' contains JSON records, but its extension means text: rename it to end in .jsonl", path));
  }

  struct BinaryRecords {
    Foreign content;
    std::string path;
  };

  const JsonFiles json_files_;
  std::string root_;
  std::optional<BinaryRecords> binary_records_;  // the first of the folder, of lines if there are any
  Corpus corpus_;
};

}  // namespace

Corpus find_corpus(const std::vector<std::string>& inputs, JsonFiles json_files) {
  CorpusFinder finder(json_files);
  for (const std::string& input : inputs) finder.add(input);
  Corpus corpus = std::move(finder).take();
  if (corpus.files.empty()) throw base::DataError(base::say("no input was given: name a text file, a .jsonl file or a folder"));
  return corpus;
}

// The way a file is read, which decides its documents beside its name and bytes, where earlier versions read it otherwise.
static const char* reading_of(const CorpusFile& file) {
  if (file.kind == FileKind::text) return file.marked ? " without its mark" : "";
  return is_jsonl(file.name) ? "" : " as records";
}

std::string corpus_hash(const Corpus& corpus) {
  std::string all;
  for (const CorpusFile& file : corpus.files) {
    all += fmt::format("{}:{} {} {}{}\n", file.name.size(), file.name, file.bytes, base::hash_file(file.path),
                       reading_of(file));
  }
  return base::hash_bytes(all);
}

// In the order of Why: of one and of several.
static constexpr std::array<std::array<base::Phrase, 2>, 10> reason_texts = {
    {{base::Phrase("{} binary file ('{}')"), base::Phrase("{} binary files ('{}', ...)")},
     {base::Phrase("{} file not encoded in UTF-8 ('{}')"),
      base::Phrase("{} files not encoded in UTF-8 ('{}', ...)")},
     {base::Phrase("{} empty file ('{}')"), base::Phrase("{} empty files ('{}', ...)")},
     {base::Phrase("{} link that leads out of the folder ('{}')"),
      base::Phrase("{} links that lead out of the folder ('{}', ...)")},
     {base::Phrase("{} dangling link ('{}')"), base::Phrase("{} dangling links ('{}', ...)")},
     {base::Phrase("{} link to a folder ('{}')"), base::Phrase("{} links to folders ('{}', ...)")},
     {base::Phrase("{} pipe or device ('{}')"), base::Phrase("{} pipes or devices ('{}', ...)")},
     {base::Phrase("{} run folder ('{}')"), base::Phrase("{} run folders ('{}', ...)")},
     {base::Phrase("{} folder of token shards ('{}')"), base::Phrase("{} folders of token shards ('{}', ...)")},
     {base::Phrase("{} file without records ('{}')"),
      base::Phrase("{} files without records ('{}', ...)")}}};

void LeftOut::add(Why why, const std::string& name) {
  Reason& reason = reasons_[static_cast<std::size_t>(why)];
  if (reason.count++ == 0) reason.first = name;
}

bool LeftOut::empty() const {
  return std::all_of(reasons_.begin(), reasons_.end(), [](const Reason& reason) { return reason.count == 0; });
}

base::Text LeftOut::text_from(std::size_t reason) const {
  std::vector<base::Text> parts;
  for (; reason < reasons_.size(); ++reason) {
    const Reason& one = reasons_[reason];
    if (one.count > 0) parts.push_back(base::say(reason_texts[reason][one.count == 1 ? 0 : 1], one.count, one.first));
  }
  return base::join(parts, ", ", "，");
}

base::Text LeftOut::text() const { return text_from(0); }
base::Text LeftOut::text_beside_binary() const { return text_from(1); }

}  // namespace troika::data
