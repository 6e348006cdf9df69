#include "data/file_content.h"

#include <fmt/format.h>

#include <array>

#include "base/encoding.h"
#include "base/say.h"
#include "data/input_text.h"
#include "data/texts.h"

namespace troika::data {
namespace {

struct Magic {
  std::string_view bytes;
  base::Bilingual what, remedy;
};

constexpr std::array<Magic, 13> magics = {{
    {"\xFD\x37zXZ", data_texts.xz_data, data_texts.decompress_it},
    {"\x04\x22\x4D\x18", data_texts.lz4_data, data_texts.decompress_it},
    {"PK\x03\x04", data_texts.zip_archive, data_texts.unpack_it},
    {"7z\xBC\xAF\x27\x1C", data_texts.archive, data_texts.unpack_it},
    {"Rar!\x1A\x07", data_texts.archive, data_texts.unpack_it},
    {"%PDF-", data_texts.pdf, data_texts.extract_text},
    {"SQLite format 3", data_texts.database, data_texts.export_it},
    {"Obj\x01", data_texts.avro, data_texts.export_it},
    {"\x93NUMPY", data_texts.array_file, data_texts.export_it},
    {"\x89HDF", data_texts.array_file, data_texts.export_it},
    {"version https://git-lfs.github.com/spec/", data_texts.lfs_pointer, data_texts.lfs_pull},
    {"PAR1", data_texts.parquet, {}},
    {{"ARROW1\0\0", 8}, data_texts.feather, {}},
}};

bool begins_with(std::string_view text, std::string_view begin) { return text.substr(0, begin.size()) == begin; }

// Compressed once, or once more than its ending says.
Foreign compressed(const base::Bilingual& what, const char* ending, const std::string& path) {
  const bool again = compression_of(path) != Compression::none;
  return {ForeignKind::binary, base::say(what),
          again ? base::say(data_texts.decompress_it) : base::say(data_texts.give_ending, ending)};
}

// "a/b.jsonl" -> "a/b.utf8.jsonl"
std::string beside(const std::string& path, const std::string& word) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1,
                    dot = path.find('.', name + 1);
  return path.substr(0, dot) + "." + word + (dot == std::string::npos ? "" : path.substr(dot));
}

Foreign other_encoding(const std::string& encoding, const std::string& path) {
  const bool is_plain = compression_of(path) == Compression::none;
  const std::string from = is_plain ? path : "FILE", to = is_plain ? beside(path, "utf8") : "NEW";
  return {ForeignKind::encoding, base::verbatim(encoding),
          base::say(data_texts.convert_by, fmt::format("iconv -f {} -t UTF-8 '{}' > '{}'", encoding, from, to))};
}

}  // namespace

std::optional<Foreign> foreign_content(std::string_view first, const std::string& path) {
  if (begins_with(first, "\x1F\x8B")) return compressed(data_texts.gzip_data, ".gz", path);
  if (begins_with(first, "\x28\xB5\x2F\xFD")) return compressed(data_texts.zstd_data, ".zst", path);
  if (begins_with(first, "BZh") && first.size() > 4 && first.substr(4, 6) == "1AY&SY")
    return Foreign{ForeignKind::binary, base::say(data_texts.bzip2_data), base::say(data_texts.decompress_it)};
  for (const Magic& magic : magics) {
    if (!begins_with(first, magic.bytes)) continue;
    const base::Text remedy =
        magic.remedy.english.empty()
            ? base::say(data_texts.convert_by, table_command(path, magic.bytes == "PAR1" ? "parquet" : "feather"))
            : base::say(magic.remedy);
    return Foreign{ForeignKind::binary, base::say(magic.what), remedy};
  }
  const bool has_zeros = first.find('\0') != std::string_view::npos;
  const bool is_marked = begins_with(first, "\xFF\xFE") || begins_with(first, "\xFE\xFF");
  if (!has_zeros && !is_marked) return std::nullopt;
  if (const std::string encoding = base::guessed_encoding(first); !encoding.empty())
    return other_encoding(encoding, path);
  if (first.size() > 262 && first.substr(257, 5) == "ustar")
    return Foreign{ForeignKind::binary, base::say(data_texts.archive), base::say(data_texts.unpack_it)};
  return Foreign{ForeignKind::binary, base::say(data_texts.binary_data), base::say(data_texts.give_text)};
}

base::Text describe(const Foreign& foreign, const std::string& path) {
  return base::say(foreign.kind == ForeignKind::encoding ? data_texts.not_utf8 : data_texts.no_text, path, foreign.what,
                   foreign.remedy);
}

std::string table_command(const std::string& path, std::string_view format) {
  const std::size_t slash = path.rfind('/'), dot = path.find('.', slash == std::string::npos ? 0 : slash + 1);
  const std::string name = path.substr(0, dot);
  if (format == "arrow")  // a stream, as Hugging Face's datasets write it
    return fmt::format(
        "python3 -c \"import datasets; datasets.Dataset.from_file('{}').to_json('{}.jsonl', force_ascii=False)\"", path,
        name);
  return fmt::format(
      "python3 -c \"import pandas; pandas.read_{}('{}').to_json('{}.jsonl', orient='records', lines=True, "
      "force_ascii=False)\"",
      format, path, name);
}

}  // namespace troika::data
