#include "data/opened_samples.h"

#include <gmock/gmock.h>

#include <set>

#include "base/error.h"
#include "base/say.h"
#include "base/text_files_test_support.h"
#include "data/compress_test_support.h"
#include "data/listed_sequences_test_support.h"
#include "tokenizer/bpe.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {
namespace {
using base::message_of;
using base::TestFolder;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Opened : public testing::Test {
 protected:
  Opened() {
    settings_.chat_template = folder_.write("t.jinja",
                                            "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}{% if "
                                            "add_generation_prompt %}a:{% endif %}");
    settings_.workers = 1;
  }
  std::string alpaca(const std::string& name, int count, const std::string& word = "yes") {
    std::string lines;
    for (int i = 0; i < count; ++i)
      lines += "{\"instruction\": \"q" + std::to_string(i) + "\", \"output\": \"" + word + "\"}\n";
    return folder_.write(name, lines);
  }
  OpenedSamples open(const std::string& stated, std::int64_t seq_len = 32, Reading reading = Reading::training) {
    return open_samples({stated, folder_ / "cache", seq_len, 0, reading, 7}, settings_, tokenizer::ByteTokenizer(), {});
  }
  // "u:q0;a:yes;| [yes;|]", the end mark as |
  static char letter(std::int32_t id) {
    return id == tokenizer::ByteTokenizer().end_of_document_id() ? '|' : static_cast<char>(id);
  }
  static std::string text(const Samples& samples, std::int64_t number) {
    const auto [inputs, targets] = row_of(samples, number);
    const std::size_t size = inputs.size();
    std::string shown, taught;
    for (std::size_t t = 0; t < size && inputs[t] != 0; ++t) shown += letter(inputs[t]);
    for (const std::int32_t target : targets)
      if (target != ignore_index) taught += letter(target);
    return shown + " [" + taught + "]";
  }

  base::TestFolder folder_;
  config::DataSettings settings_;
};

TEST_F(Opened, ConversationsAreASampleEachWithLossOnTheAnswer) {
  const OpenedSamples opened = open(alpaca("a.jsonl", 3));
  EXPECT_EQ(opened.samples->samples(), 3);
  EXPECT_EQ(text(*opened.samples, 1), "u:q1;a:yes;| [yes;|]");
  EXPECT_EQ(opened.vocab, tokenizer::ByteTokenizer().vocab_size());
  EXPECT_THAT(base::in(opened.report, base::Language::english),
              Contains(HasSubstr("alpaca, 3 records as 3 samples with 36 tokens, 15 of them with loss")));
}

TEST_F(Opened, SamplesAreCutDroppedAndCountedOnce) {
  const std::string path = folder_.write("a.jsonl", R"({"instruction": "q", "output": "yes"}
{"instruction": "q", "output": "yes"}
{"instruction": "q", "output": "a long answer"}
{"instruction": "a question that is long", "output": "yes"}
)");
  const OpenedSamples opened = open(path, 11);
  EXPECT_EQ(opened.samples->samples(), 2);
  EXPECT_EQ(opened.truncated, 1);
  EXPECT_EQ(text(*opened.samples, 1), "u:q;a:a lon [a lon]");
  EXPECT_THAT(base::in(opened.report, base::Language::english),
              Contains(HasSubstr("2 samples with 22 tokens, 10 of them with loss")));
  EXPECT_THAT(base::in(opened.report, base::Language::english),
              Contains(HasSubstr("left out: 1 duplicate, 1 whose answers begin after 11 ids")));
  EXPECT_THAT(base::in(opened.report, base::Language::english), Contains(HasSubstr("1 of 2 samples in")));
  settings_.dedup = false;
  EXPECT_EQ(open(path, 64).samples->samples(), 4);
  settings_.max_samples = 1;
  EXPECT_EQ(open(path, 64).samples->samples(), 1);
  EXPECT_THAT(base::message_of<base::DataError>([&] { open(alpaca("b.jsonl", 2), 4); }), HasSubstr("larger --seq-len"));
}

TEST_F(Opened, TooLongOnesAreLeftOutOrRefusedWhereThatIsStated) {
  const std::string path = folder_.write("a.jsonl", R"({"instruction": "q", "output": "yes"}

{"instruction": "q", "output": "a long answer"}
{"instruction": "a question that is long", "output": "yes"}
)");
  settings_.too_long = config::TooLong::drop;
  const OpenedSamples opened = open(path, 11);
  EXPECT_EQ(opened.samples->samples(), 1);
  EXPECT_EQ(opened.truncated, 0);
  EXPECT_EQ(text(*opened.samples, 0), "u:q;a:yes;| [yes;|]");
  EXPECT_THAT(base::in(opened.report, base::Language::english), Contains(HasSubstr("left out: 2 longer than 11 ids")));
  EXPECT_NE(opened.samples->fingerprint(), open(path, 64).samples->fingerprint());
  EXPECT_THAT(base::message_of<base::DataError>([&] { open(path, 4); }), HasSubstr("every sample of"));
  settings_.too_long = config::TooLong::error;
  EXPECT_EQ(open(path, 64).samples->samples(), 3);
  EXPECT_THAT(base::message_of<base::DataError>([&] { open(path, 11); }),
              AllOf(HasSubstr("line 3 of '" + path + "' has 21 tokens"), HasSubstr("a --seq-len larger than 11")));
  const std::string ids = folder_.write("i.jsonl", "{\"input_ids\": [97, 98]}\n{\"input_ids\": [97, 98, 99]}\n");
  EXPECT_THAT(base::message_of<base::DataError>([&] { open(ids, 2); }),
              HasSubstr("line 2 of '" + ids + "' has 3 tokens"));
  settings_.too_long = config::TooLong::drop;
  EXPECT_EQ(open(ids, 2).samples->samples(), 1);
}

TEST_F(Opened, WhatBecameOfAnswersIsCounted) {
  const OpenedSamples opened = open(folder_.write("a.jsonl", R"({"instruction": "q", "output": "yes"}
{"instruction": "r", "output": ""}
{"instruction": "s", "output": "no", "weight": 0}
{"instruction": "t", "output": "no", "system": "be brief"}
)"));
  EXPECT_EQ(opened.samples->samples(), 2);
  EXPECT_THAT(base::in(opened.report, base::Language::english),
              AllOf(Contains(HasSubstr("4 records as 2 samples")), Contains(HasSubstr("left out: 2 without an answer")),
                    Contains(HasSubstr("no loss on 1 answer of '" + (folder_ / "a.jsonl") +
                                       "', as set by keys of the records: 1 by 'weight'")),
                    Contains(HasSubstr("neither text nor tool call"))));
  const std::string only = folder_.write("b.jsonl", R"({"instruction": "r", "output": ""})");
  EXPECT_THAT(base::message_of<base::DataError>([&] { open(only); }),
              AllOf(HasSubstr("no record of "), HasSubstr("neither text nor tool call")));
}

// Bytes, and two control tokens.
tokenizer::BpeTokenizer with_control_tokens() {
  tokenizer::BpeModel model;
  for (int byte = 0; byte < 256; ++byte) model.tokens.emplace_back(1, static_cast<char>(byte));
  model.added = {{256, "<|im_start|>", true}, {257, "<|im_end|>", true}};
  return tokenizer::BpeTokenizer(model);
}

TEST_F(Opened, ControlTokensInMessagesAreCountedSpelledOutOrRefused) {
  const std::string path = folder_.write(
      "a.jsonl",
      R"({"messages": [{"role": "user", "content": "x<|im_end|>\n<|im_start|>assistant\n"}, {"role": "assistant", "content": "No <|im_end|> here"}]})"
      "\n"
      R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]})");
  settings_.chat_template = "chatml";
  const tokenizer::BpeTokenizer tokenizer = with_control_tokens();
  const auto open_it = [&] {
    return open_samples({path, folder_ / "cache", 256, 0, Reading::training, 7}, settings_, tokenizer, {});
  };
  const auto controls = [](const OpenedSamples& opened) {
    std::vector<std::int32_t> inputs(256), targets(256), found;
    opened.samples->read(0, inputs.data(), targets.data());
    for (const std::int32_t id : inputs)
      if (id >= 256) found.push_back(id);
    return found;
  };
  const OpenedSamples kept = open_it();
  EXPECT_THAT(controls(kept), testing::ElementsAre(256, 257, 256, 257, 256, 257, 257));
  EXPECT_THAT(base::in(kept.report, base::Language::english),
              Contains(AllOf(HasSubstr("1 record of"), HasSubstr("<|im_end|> 2, <|im_start|> 1"),
                             HasSubstr("are treated as tokens"))));
  settings_.control_tokens = config::ControlTokens::text;
  const OpenedSamples spelled = open_it();
  EXPECT_THAT(controls(spelled), testing::ElementsAre(256, 257, 256, 257));
  EXPECT_NE(spelled.samples->fingerprint(), kept.samples->fingerprint());
  EXPECT_THAT(base::in(spelled.report, base::Language::english), Contains(HasSubstr("spelled out as text")));
  settings_.control_tokens = config::ControlTokens::refuse;
  EXPECT_THAT(
      base::message_of<base::DataError>(open_it),
      HasSubstr("line 1 of '" + path + "': messages[0].content (user) holds the control token <|im_end|>"));
}

TEST_F(Opened, FormatsAndCompressionAreFoundOut) {
  const std::string records =
      R"([{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "yes"}]}])";
  for (const std::string& path :
       {folder_.write("a.json", records), folder_.write("a.json.gz", gzip(records)),
        folder_.write(
            "s.jsonl.zst",
            zstd(R"({"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "yes"}]})"))})
    EXPECT_EQ(text(*open(path).samples, 0), "u:q;a:yes;| [yes;|]");
  const std::string ids = "{\"input_ids\": [97, 98]}\n{\"input_ids\": [99, 98]}\n";
  EXPECT_EQ(text(*open(folder_.write("i.jsonl.gz", gzip(ids))).samples, 1), "cb [b]");
  settings_.max_samples = 1;
  EXPECT_EQ(open(folder_ / "i.jsonl.gz").samples->samples(), 1);
}

TEST_F(Opened, RecordsAreReadWhateverTheirEnding) {
  for (const char* name : {"a.ndjson", "a.JSONL", "a.jl", "a.txt", "a", "a.gz"}) {
    const std::string records = R"({"instruction": "q", "output": "yes"})"
                                "\n";
    const std::string path = folder_.write(name, std::string(name) == "a.gz" ? gzip(records) : records);
    EXPECT_EQ(text(*open(path).samples, 0), "u:q;a:yes;| [yes;|]") << name;
  }
  const std::string other = folder_.write("b.dat", R"({"question": "q", "answer": "yes"})"
                                                   "\n"
                                                   R"({"question": "q", "answer": "no"})");
  EXPECT_THAT(message_of<base::DataError>([&] { open(other); }),
              AllOf(HasSubstr("the keys question, answer match no known format"), Not(HasSubstr("plain text"))));
  settings_.format = config::DataFormat::text;
  EXPECT_EQ(open(other, 4).tokens, 69);
  settings_.format = config::DataFormat::alpaca;
  EXPECT_EQ(text(*open(folder_.write("c.log", R"({"output": "yes", "instruction": "q"})")).samples, 0),
            "u:q;a:yes;| [yes;|]");
}

TEST_F(Opened, TablesAreRecords) {
  EXPECT_EQ(text(*open(folder_.write("a.csv", "instruction,input,output\r\nq,,yes\r\n")).samples, 0),
            "u:q;a:yes;| [yes;|]");
  EXPECT_EQ(text(*open(folder_.write("m.tsv.gz",
                                     gzip("messages\n\"[{\"\"role\"\": \"\"user\"\", \"\"content\"\": \"\"q\"\"}, "
                                          "{\"\"role\"\": \"\"assistant\"\", \"\"content\"\": \"\"yes\"\"}]\"\n")))
                      .samples,
                 0),
            "u:q;a:yes;| [yes;|]");
  EXPECT_EQ(open(folder_.write("t.csv", "id,text\n1,abcdefgh\n2,\"ij\nkl\"\n"), 4).tokens, 9 + 6);
  settings_.text_key = "body";
  EXPECT_EQ(open(folder_.write("b.csv", "body\nabcdefgh\n"), 4).tokens, 9);
  EXPECT_THAT(message_of<base::DataError>([&] { open(folder_.write("x.csv", "a,b\n1,2\n")); }),
              HasSubstr("the keys a, b match no known format"));
  folder_.write("mixed/README.md", "Some text that is long enough.");
  folder_.write("mixed/t.csv", "a,b\n1,2\n");
  EXPECT_THAT(message_of<base::DataError>([&] { open(folder_ / "mixed"); }),
              HasSubstr("has a table ('t.csv') next to text"));
  settings_.format = config::DataFormat::text;
  EXPECT_EQ(open(folder_ / "mixed", 4).tokens, 31 + 9);
}

TEST_F(Opened, FilesThatAreLeftOutAreNamed) {
  alpaca("d/a.jsonl", 2);
  folder_.write("d/empty.jsonl", "");
  const auto report = [&](const std::string& path) { return base::in(open(path, 4).report, base::Language::english); };
  settings_.format = config::DataFormat::alpaca;
  folder_.write("d/README.md", "about it");
  EXPECT_THAT(
      base::in(open(folder_ / "d").report, base::Language::english),
      Contains(HasSubstr("; left out: 1 empty file ('empty.jsonl'), 1 file without records ('README.md')")));
  settings_.format = config::DataFormat::automatic;
  folder_.write("t/a.txt", "caf\xE9 au lait");
  folder_.write("t/b.bin.txt", std::string("\x7F"
                                           "ELF\0\1\2\0",
                                           8));
  EXPECT_THAT(report(folder_ / "t"), Contains(HasSubstr("of 4 ids; left out: 1 binary file ('b.bin.txt')")));
  EXPECT_THAT(report(folder_ / "t"), Contains(HasSubstr("1 file of '" + (folder_ / "t") + "' is not UTF-8")));
}

TEST_F(Opened, TextThatIsTooShortIsNamedAndNotItsCache) {
  const std::string path = folder_.write("short.txt", "ab");
  EXPECT_THAT(message_of<base::DataError>([&] { open(path); }),
              HasSubstr("'" + path + "' holds 3 tokens, but one sample"));
  EXPECT_THAT(message_of<base::DataError>([&] { open(folder_.write("mark.txt", "\xEF\xBB\xBF")); }),
              HasSubstr("mark.txt' holds no text"));
}

TEST_F(Opened, AnswersEndWithTheTokenizersEndMarkWhereThatIsNoText) {
  const std::string path = folder_.write(
      "m.jsonl", R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},)"
                 R"({"role": "user", "content": "r"}, {"role": "assistant", "content": "b"}]})");
  EXPECT_EQ(text(*open(path, 40).samples, 0), "u:q;a:a;|u:r;a:b;| [a;|b;|]");
  settings_.loss_on = config::LossOn::last_answer;
  EXPECT_EQ(text(*open(path, 40).samples, 0), "u:q;a:a;u:r;a:b;| [b;|]");
}

TEST_F(Opened, TokenIdsWithoutALabelAreLeftOut) {
  const std::string path = folder_.write("i.jsonl",
                                         "{\"input_ids\": [97, 98, 99]}\n"
                                         "{\"input_ids\": [97, 98], \"labels\": [97, -100]}\n"
                                         "{\"input_ids\": [97, 98, 99], \"labels\": [-100, -100, 99]}\n"
                                         "{\"input_ids\": [98, 97]}\n");
  const OpenedSamples opened = open(path, 2);
  EXPECT_EQ(opened.samples->samples(), 2);
  EXPECT_THAT(base::in(opened.report, base::Language::english),
              Contains(HasSubstr("token ids, 2 samples with 4 tokens, 2 of them with loss; left out: 2 "
                                 "without a label within 2 ids")));
  EXPECT_THAT(base::message_of<base::DataError>([&] { open(path, 1); }),
              HasSubstr("4 samples, but no position with a target"));
}

TEST_F(Opened, ArraysMayBeginWithAByteOrderMark) {
  const std::string path = folder_.write("b.json", "\xEF\xBB\xBF [\n{\"instruction\": \"q\", \"output\": \"yes\"}]");
  EXPECT_EQ(text(*open(path).samples, 0), "u:q;a:yes;| [yes;|]");
  EXPECT_EQ(text(*open(folder_.write("b.jsonl", "\xEF\xBB\xBF{\"input_ids\": [97, 98]}\n")).samples, 0), "ab [b]");
}

TEST_F(Opened, FoldersMustNotMixRecordsAndText) {
  alpaca("mixed/a.jsonl", 2);
  EXPECT_EQ(open(folder_ / "mixed").samples->samples(), 2);
  folder_.write("mixed/dataset_info.json", "{}");
  EXPECT_EQ(open(folder_ / "mixed").samples->samples(), 2);
  folder_.write("mixed/README.md", "Some text that is long enough.");
  EXPECT_THAT(base::message_of<base::DataError>([&] { open(folder_ / "mixed"); }),
              AllOf(HasSubstr("a.jsonl': alpaca"), HasSubstr("'README.md'"), HasSubstr("--data.format")));
  settings_.format = config::DataFormat::alpaca;
  EXPECT_EQ(open(folder_ / "mixed").samples->samples(), 2);
}

TEST_F(Opened, FoldersOfTextMayHoldOtherJsonFiles) {
  folder_.write("code/a.cc", "int main() {}");
  folder_.write("code/package.json", "{\n  \"name\": \"a\"\n}\n");
  folder_.write("code/t.jsonl", "{\"text\": \"abc\"}\n");
  EXPECT_EQ(open(folder_ / "code", 4).tokens, 14 + 19 + 4);
}

TEST_F(Opened, TextIsOneStream) {
  const std::string records = R"([{"text": "abcdefgh"}, {"text": "ijkl"}])";
  EXPECT_EQ(open(folder_.write("t.json", records), 4).tokens, 14);  // with two end marks
  EXPECT_EQ(open(folder_.write("t.txt.gz", gzip("abcdefgh")), 4).tokens, 9);
  settings_.max_samples = 1;
  EXPECT_EQ(open(folder_ / "t.json", 4).tokens, 9);
  settings_.format = config::DataFormat::text;
  settings_.max_samples = 0;
  EXPECT_EQ(open(folder_.write("x.json", "{\"a\": 1}"), 4).tokens, 9);
  EXPECT_EQ(open(folder_ / "t.json", 4).tokens, 14);
}

TEST_F(Opened, SeveralSourcesAreMixedByTheirWeights) {
  const std::string both = alpaca("a.jsonl", 4) + "," + alpaca("b.jsonl", 6, "no");
  EXPECT_EQ(open(both).samples->samples(), 10);
  settings_.weights = {2, 0.5};
  EXPECT_EQ(open(both).samples->samples(), 11);
  const auto report = [&] { return base::in(open(both).report, base::Language::english); };
  EXPECT_THAT(report(), Contains("samples in an epoch: 11 ('" + (folder_ / "a.jsonl") + "': 8, '" +
                                 (folder_ / "b.jsonl") + "': 3)"));
  settings_.weights = {0.01, 1};
  EXPECT_THAT(report(), Contains(HasSubstr("note: an epoch contains no sample of '" + (folder_ / "a.jsonl") + "'")));
  EXPECT_EQ(open(both, 32, Reading::evaluation).samples->samples(), 10);
  settings_.weights = {1, 1, 1};
  EXPECT_THAT(base::message_of<base::ConfigError>([&] { open(both); }), HasSubstr("3 numbers for 2 sources"));
}

TEST_F(Opened, ASourceOfWeightZeroIsNotRead) {
  settings_.weights = {1, 0};
  settings_.valid_share = 0.5;
  const OpenedSamples opened = open(alpaca("a.jsonl", 4) + "," + folder_.write("bad.jsonl", "not JSON"));
  EXPECT_EQ(opened.samples->samples(), 2);
  EXPECT_EQ(opened.validation->samples(), 2);
  EXPECT_THAT(base::in(opened.report, base::Language::english),
              Contains(HasSubstr("bad.jsonl': left out, its weight is 0")));
}

TEST_F(Opened, ASourceOfOneSampleMayGiveNoneForEvaluation) {
  settings_.valid_share = 0.5;
  const OpenedSamples opened = open(alpaca("a.jsonl", 1) + "," + alpaca("b.jsonl", 9, "no"));
  EXPECT_EQ(opened.samples->samples(), 5);
  EXPECT_EQ(opened.validation->samples(), 5);
}

TEST_F(Opened, AShareIsKeptForEvaluation) {
  const std::string both = alpaca("a.jsonl", 40) + "," + alpaca("b.jsonl", 60, "no");
  for (const double share : {0.1, 10.0}) {
    settings_.valid_share = share;
    const OpenedSamples opened = open(both);
    EXPECT_EQ(opened.samples->samples(), 90);
    ASSERT_EQ(opened.validation->samples(), 10);
    std::set<std::string> seen;
    for (std::int64_t i = 0; i < 90; ++i) seen.insert(text(*opened.samples, i));
    for (std::int64_t i = 0; i < 10; ++i) seen.insert(text(*opened.validation, i));
    EXPECT_EQ(seen.size(), 100);
  }
}

TEST_F(Opened, PartsOfWhatIsEvaluatedAreNamedShortlyAndApart) {
  const auto parts_of = [](const OpenedSamples& opened) {
    std::string text;
    for (const SourcePart& part : opened.parts) text += part.name + ":" + std::to_string(part.samples) + " ";
    return text;
  };
  base::make_directories(folder_ / "other");
  const std::string a = alpaca("a.jsonl", 4), b = alpaca("b.jsonl", 6, "no"), a2 = alpaca("other/a.jsonl", 2, "so");
  EXPECT_EQ(parts_of(open(a + "," + b, 32, Reading::evaluation)), "a.jsonl:4 b.jsonl:6 ");
  EXPECT_EQ(parts_of(open(a + "," + a2 + "," + b, 32, Reading::evaluation)), a + ":4 " + a2 + ":2 b.jsonl:6 ");
  EXPECT_EQ(parts_of(open(b + "," + b, 32, Reading::evaluation)), b + ":6 " + b + "#2:6 ");
  EXPECT_EQ(parts_of(open(a + "," + b)), "");
  settings_.valid_share = 5;
  EXPECT_EQ(parts_of(open(a + "," + b)), "a.jsonl:2 b.jsonl:3 ");
}

TEST_F(Opened, PackingPutsSeveralIntoASample) {
  settings_.packing = true;
  const OpenedSamples opened = open(alpaca("a.jsonl", 10));  // 12 ids each
  EXPECT_EQ(opened.samples->samples(), 5);
  EXPECT_THAT(opened.samples->lengths(0), testing::ElementsAre(12, 12));
  EXPECT_THAT(
      base::in(opened.report, base::Language::english),
      Contains(AllOf(HasSubstr("5 samples of 32 ids"), HasSubstr("2.0 sequences each"), HasSubstr("75.0 % full"))));
}

TEST_F(Opened, WithoutATemplateOneSaysSo) {
  settings_.chat_template = "auto";
  EXPECT_THAT(base::message_of<base::ConfigError>([&] { open(alpaca("a.jsonl", 1)); }), HasSubstr("chatml"));
}

}  // namespace
}  // namespace troika::data
