#include "commands/generate/generate.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text_files_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

std::string generate_refusal(const Words& words) {
  try {
    parse_generate_arguments(words);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(GenerateArguments, FlagsMayHaveUnderscoresAndTheModelMayStandInEitherPlace) {
  const auto a = parse_generate_arguments({"run", "--max_new_tokens", "5", "--top_k=3", "--prompt=a_b", "--stop", "x",
                                           "--stop", "--y", "--stop_id", "7", "--stop-id", "8"});
  EXPECT_EQ(a.path, "run");
  EXPECT_EQ(a.new_tokens, 5);
  EXPECT_EQ(a.top_k, 3);
  EXPECT_EQ(a.prompt, "a_b");
  EXPECT_THAT(a.stop_ids, ElementsAre(7, 8));
  EXPECT_FALSE(a.temperature);
  EXPECT_EQ(parse_generate_arguments({"--model.path", "run"}).path, "run");
}

TEST(GenerateArguments, ValuesKeepTheirUnderscores) {
  EXPECT_EQ(parse_generate_arguments({"run", "--prompt", "-- select my_col"}).prompt, "-- select my_col");
  EXPECT_EQ(parse_generate_arguments({"run", "--prompt=--a_b=c_d"}).prompt, "--a_b=c_d");
  const auto a = parse_generate_arguments({"--json", "run", "--stop", "--max_new_tokens", "--top_k", "3", "--prompt",
                                           "--top_k", "--stop=--a_b", "--stop", "[a,b]"});
  EXPECT_EQ(a.path, "run");
  EXPECT_THAT(a.stop_texts, ElementsAre("--max_new_tokens", "--a_b", "[a,b]"));
  EXPECT_EQ(a.prompt, "--top_k");
  for (const char* text : {"", "{}", "[a,b]", "[]", "--", "-x"})
    EXPECT_EQ(parse_generate_arguments({"run", "--prompt", text}).prompt, text);
}

TEST(GenerateArguments, TheFileOfThePromptsIsNotWrittenOver) {
  const base::TestFolder folder;
  const std::string input = folder.write("a.jsonl", "{\"prompt\": \"x\"}\n");
  ASSERT_EQ(::link(input.c_str(), (folder / "hard").c_str()), 0);
  ASSERT_EQ(::symlink(input.c_str(), (folder / "soft").c_str()), 0);
  for (const std::string& output : {input, folder.path() + "/./a.jsonl", folder / "hard", folder / "soft"})
    EXPECT_THAT(generate_refusal({"run", "--input", input, "--output", output}),
                HasSubstr("--output names the file of --input"));
  EXPECT_EQ(generate_refusal({"run", "--input", input, "--output", folder / "b.jsonl"}), "");
  EXPECT_EQ(generate_refusal({"run", "--input", "/dev/null", "--output", "/dev/null"}), "") << "nothing is lost there";
}

TEST(GenerateArguments, WrongFlagsAreToldWithARemedy) {
  EXPECT_THAT(generate_refusal({"run", "--temprature", "1"}),
              HasSubstr("unknown flag --temprature; did you mean --temperature?"));
  EXPECT_THAT(generate_refusal({"run", "--toppp=1"}), HasSubstr("unknown flag --toppp; did you mean --top-p?"));
  EXPECT_THAT(generate_refusal({"run", "--max_new_tokns", "1"}), HasSubstr("did you mean --max-new-tokens?"));
  EXPECT_THAT(generate_refusal({"run", "--qqqqqqqqqqqqqq"}),
              HasSubstr("unknown flag --qqqqqqqqqqqqqq; --help lists all"));
  EXPECT_THAT(generate_refusal({"run", "hello"}), HasSubstr("unexpected argument 'hello'"));
  EXPECT_THAT(generate_refusal({"run", "--prompt", "a", "--prompt-file", "b"}), HasSubstr("give one of them"));
  EXPECT_THAT(generate_refusal({"run", "--input", "a"}), HasSubstr("--input and --output belong together"));
  EXPECT_THAT(generate_refusal({"run", "--output", "a"}), HasSubstr("--input and --output belong together"));
  EXPECT_THAT(generate_refusal({"run", "--input", "a", "--output", "b", "--prompt", "c"}),
              HasSubstr("brings its own prompts"));
  EXPECT_THAT(generate_refusal({"run", "--input", "a", "--output", "b", "--json"}),
              HasSubstr("--json is for one prompt"));
  EXPECT_THAT(generate_refusal({"run", "--raw", "--json"}), HasSubstr("--raw is for plain output"));
  EXPECT_THAT(generate_refusal({"run", "--raw", "--input", "a", "--output", "b"}),
              HasSubstr("--raw is for plain output"));
  EXPECT_THAT(generate_refusal({"run", "--stop", "a", "--stop", ""}),
              HasSubstr("--stop: the text to stop at is empty"));
  EXPECT_THAT(generate_refusal({"run", "--stop="}), HasSubstr("--stop"));
  EXPECT_THAT(generate_refusal({"--prompt", "a"}), HasSubstr("troika generate needs PATH; see troika generate --help"));
  EXPECT_THAT(generate_refusal({"run", "--precision", "fp8"}), HasSubstr("fp8"));
  EXPECT_THAT(generate_refusal({"run", "--temperature", "hot"}), HasSubstr("hot"));
  for (const char* flag : {"--temperature", "--top-p", "--min-p", "--repetition-penalty"})
    EXPECT_THAT(generate_refusal({"run", flag, "nan"}), HasSubstr(flag));
  EXPECT_THAT(generate_refusal({"run", "--top-p", "0"}), HasSubstr("--top-p"));
  EXPECT_THAT(generate_refusal({"run", "--batch", "0"}), HasSubstr("--batch"));
}

TEST(GenerateArguments, AllErrorsComeTogetherAndNoValueOfAnUnknownFlag) {
  const std::string text = generate_refusal({"run", "--password", "geheim", "--top-k", "x", "--input", "a"});
  EXPECT_THAT(text, AllOf(HasSubstr("unknown flag --password"), HasSubstr("--top-k takes a whole number, not 'x'"),
                          HasSubstr("--input and --output belong together"), Not(HasSubstr("geheim"))));
}

}  // namespace
}  // namespace troika::commands
