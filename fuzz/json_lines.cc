// Files of records: text, conversations and token ids to train on as JSON and in tables, metrics of a run.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/terminal_text.h"
#include "base/json.h"
#include "base/text.h"
#include "data/chunks.h"
#include "data/conversations.h"
#include "data/file_content.h"
#include "data/json_records.h"
#include "data/loader.h"
#include "data/sequence_samples.h"
#include "data/table.h"
#include "data/tokenized_lines.h"
#include "fuzz/input.h"
#include "fuzz/memory_file.h"
#include "fuzz/outcome.h"
#include "metrics/step_metrics.h"

namespace troika::fuzz {

static void read_corpus(std::string_view text) {
  const data::Chunk chunk{nullptr, text, "a.jsonl", data::FileKind::json_lines, 1, text, true, true};
  accepted([&] {
    data::for_each_part(chunk, "text", [](const data::DocumentPart& part) {
      require(!part.view.empty() && part.document == part.view, "a line is a whole document");
    });
  });
}

static constexpr std::int64_t vocabulary = 300, most_ids = 8;

static void require_ids(const std::vector<std::int32_t>& ids) {
  for (const std::int32_t id : ids)
    require((id >= 0 && id < vocabulary) || id == data::ignore_index, "ids and labels are in the vocabulary");
}

static void read_tokenized(const std::string& line) {
  accepted([&] {
    const data::TokenizedLine parsed = data::parse_tokenized_line(line, vocabulary, "a line");
    require(parsed.labels.empty() || parsed.labels.size() == parsed.ids.size(), "each id has a label");
    require_ids(parsed.ids);
    require_ids(parsed.labels);
  });
}

static void read_all(const data::Samples& samples) {
  std::vector<std::int32_t> inputs(most_ids), targets(most_ids);
  for (std::int64_t i = 0; i < samples.samples(); ++i) {
    samples.read(i, inputs.data(), targets.data());
    require_ids(inputs);
    require_ids(targets);
    for (const std::int64_t start : samples.document_starts(i))
      require(start > 0 && start < most_ids, "documents begin within the sample");
  }
}

static void read_samples(std::string_view content) {
  static MemoryFile file;
  file.set(content);
  accepted([&] {
    const auto lines = std::make_shared<const data::TokenizedLines>(file.path(), vocabulary);
    data::check_targets(*lines, most_ids, "lines");
    read_all(data::SequenceSamples(data::counted_targets(lines, most_ids), most_ids));
    read_all(data::SequenceSamples(data::counted_targets(lines, most_ids), most_ids, data::SequenceSamples::Packing::several));
  });
}

// Whatever is accepted has messages with roles, and a record that was written by us reads back.
static void read_conversation(const std::string& line) {
  accepted([&] {
    const nlohmann::ordered_json record = base::parse_ordered_json(line, "a line");
    const data::RecordShape shape = data::shape_of(record, "text", "a line");
    if (shape.format == data::Format::text || shape.format == data::Format::tokenized) return;
    data::Conversation conversation = data::conversation_of(record, shape, "a line");
    require(!conversation.messages().empty(), "a conversation has messages");
    for (const auto& message : conversation.messages())
      require(message.at("role").is_string() && message.contains("content"), "a message has a role and content");
    const nlohmann::ordered_json written{{"messages", conversation.messages()}, {"tools", conversation.tools()}};
    const auto again = data::conversation_of(written, data::usual_shape(data::Format::messages), "it");
    require(again.messages() == conversation.messages() && again.tools() == conversation.tools(),
            "a conversation reads back");
  });
}

// The cutter of arrays agrees with the parser where that accepts them.
static void read_array(std::string_view content) {
  accepted([&] {
    const nlohmann::ordered_json whole = base::parse_ordered_json(content, "an array");
    if (!whole.is_array()) return;
    std::size_t at = data::array_begin(content, "an array");
    for (const auto& element : whole) {
      const std::size_t end = data::element_end(content, at);
      require(end != std::string_view::npos, "an element ends");
      require(base::parse_ordered_json(content.substr(at, end - at), "it") == element, "an element is cut out whole");
      at = end + 1;
    }
  });
}

static std::string written(const std::vector<std::string>& fields) {
  std::string row;
  for (const std::string& field : fields) {
    row += row.empty() ? "\"" : ",\"";
    for (const char c : field) row += c == '"' ? std::string("\"\"") : std::string(1, c);
    row += '"';
  }
  return row + "\n";
}

// Rows follow each other without a gap, each is a JSON object of texts, and what was written by us reads back.
static void read_table(std::string_view content) {
  accepted([&] {
    const data::TableHeader header = data::table_header(content, ',', "a.csv");
    for (std::size_t at = header.end, end = at; at < content.size(); at = end) {
      end = data::row_end(content, at, ',');
      require(end > at, "a row ends behind its begin");
      const std::string_view row = content.substr(at, end - at);
      if (data::is_empty_row(row)) continue;
      const auto record = base::parse_ordered_json(data::record_of_row(row, header, "a row"), "a record");
      require(record.is_object() && record.size() <= header.keys.size(), "a row is an object of its keys");
      std::vector<std::string> keys, fields;
      for (const auto& [key, value] : record.items())
        if (value.is_string()) keys.push_back(key), fields.push_back(value.get<std::string>());
      if (keys.empty()) continue;
      const std::string table = written(keys) + written(fields);
      const data::TableHeader again = data::table_header(table, ',', "it");
      require(again.keys == keys && data::row_end(table, again.end, ',') == table.size(), "a table reads back");
      const auto same = base::parse_ordered_json(data::record_of_row(table.substr(again.end), again, "it"), "it");
      for (std::size_t i = 0; i < keys.size(); ++i)
        require(same.value(keys[i], fields[i]) == fields[i], "a field reads back");
    }
  });
}

// Guesses about what is no JSON are sentences whatever it is.
static void look_at(std::string_view content) {
  if (const auto foreign = data::foreign_content(content, "a.jsonl"))
    require(!data::describe(*foreign, "a.jsonl").english.empty(), "what is foreign has a name");
  const std::size_t bad = base::first_not_utf8(content);
  if (bad != std::string_view::npos)
    require(!base::not_utf8(content, bad).english.empty(), "what is not UTF-8 has a name");
}

static void read_metrics(const std::string& line) {
  metrics::StepMetrics row;
  if (!accepted([&] { row = metrics::parse_step_metrics(line, "a row"); })) return;
  const auto again = [](const std::string& text) { return metrics::to_json(metrics::parse_step_metrics(text, "it")); };
  const std::string second = again(metrics::to_json(row));  // the first may say -0, which JSON reads as 0
  require(again(second) == second, "a row of metrics reads back");
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(json_lines)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  const std::string_view input = fuzz::text_of(data, size);
  fuzz::read_corpus(input);
  for (const std::string& line : base::split(input, '\n')) {
    fuzz::read_tokenized(line);
    fuzz::read_conversation(line);
    fuzz::read_metrics(line);
  }
  fuzz::read_samples(input);
  fuzz::read_array(input);
  fuzz::read_table(input);
  fuzz::look_at(input);
  return 0;
}
