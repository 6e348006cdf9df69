
#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "commands/generate/prepared.h"
#include "weights/drawn_weights_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(EndMarks, TextsOfARunEndWhereAnswersOfItsTemplateDo) {
  const auto tokenizer = tokenizer::open_tokenizer("bytes");
  const base::TemporaryFolder folder;
  const std::string file = folder.path() + "/t.jinja";
  base::write_file_atomic(file, "{% for m in messages %}[{{ m.role }}]{{ m.content }}[/]{% endfor %}");
  for (const auto& [choice, mark] : {std::pair<std::string, std::string>{"chatml", "<|im_end|>"}, {file, "[/]"}}) {
    inference::TextOptions options;
    add_end_marks_of_run(choice, "bytes", *tokenizer, &options);
    EXPECT_THAT(options.stop_texts, ElementsAre(mark));
  }
  for (const std::string choice : {"auto", "/gone/template.jinja"}) {
    inference::TextOptions options;
    add_end_marks_of_run(choice, "bytes", *tokenizer, &options);
    EXPECT_THAT(options.stop_texts, IsEmpty()) << choice;
    EXPECT_THAT(options.stop_ids, IsEmpty()) << choice;
  }
}

// A model whose folder holds these files.
class WithFiles : public weights::DrawnWeights {
 public:
  explicit WithFiles(const std::string& folder) : weights::DrawnWeights({}), folder_(folder) {}
  std::vector<std::string> auxiliary_files() const override { return {folder_ + "/generation_config.json"}; }
  std::string config_json() const override { return R"({"eos_token_id": 3})"; }

 private:
  const std::string folder_;
};

TEST(Recommended, AFileThatCannotBeUsedSaysHowToPassItOver) {
  const base::TemporaryFolder folder;
  const WithFiles source(folder.path());
  std::string found;
  for (const char* text :
       {"", "[]", R"({"temperature": NaN})", R"({"eos_token_id": "0"})", R"({"temperature": "0.9"})"}) {
    base::write_file_atomic(folder.path() + "/generation_config.json", text);
    try {
      recommended(source, Advice::followed, &found);
      FAIL() << text;
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("generation_config.json"), HasSubstr("--generation-config none")));
    }
    EXPECT_THAT(recommended(source, Advice::none, &found).stop_ids, ElementsAre(3)) << "as config.json says";
    EXPECT_EQ(found, "");
  }
}

}  // namespace
}  // namespace troika::commands
