#include "train/tokenizer_copies.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "comm/threads_channel_test_support.h"

namespace troika::train {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Texts = TokenizerCopies::Texts;

class Copies : public testing::Test {
 protected:
  std::string host(std::size_t rank) const { return folder_.path() + "/host" + std::to_string(rank); }
  // One rank on each host, without a shared disk.
  void keep(const std::vector<Texts>& texts) const {
    auto channels = comm::make_thread_channels(static_cast<int>(texts.size()), "world", 30, {});
    std::vector<std::thread> ranks;
    for (std::size_t rank = 0; rank < texts.size(); ++rank)
      ranks.emplace_back([&, rank] {
        TokenizerCopies(
            host(rank), [&] { return texts[rank]; }, *channels[rank]);
      });
    for (std::thread& rank : ranks) rank.join();
  }
  config::Settings settings(const std::string& tokenizer) const {
    config::Settings s;
    s.train.out = host(0);
    s.data.tokenizer = tokenizer;
    return s;
  }
  const base::TemporaryFolder folder_;
};

TEST_F(Copies, AllHostsHaveThoseOfRank0AndNothingOfARunBefore) {
  base::make_directories(host(1) + "/tokenizer");
  base::write_file_atomic(host(1) + "/tokenizer/chat_template.jinja", "of another run");
  base::write_file_atomic(host(1) + "/tokenizer/notes.txt", "a person's own");
  keep({{{"tokenizer.json", "{}"}, {"vocab.json", "{}"}},
        {{"tokenizer.json", "{}"}, {"merges.txt", "a b"}},
        {{"tokenizer.json", "{ }"}, {"vocab.json", "{}"}}});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(base::read_file(host(rank) + "/tokenizer/tokenizer.json"), "{}");
    EXPECT_EQ(base::read_file(host(rank) + "/tokenizer/vocab.json"), "{}");
  }
  EXPECT_THAT(base::list_directory(host(1) + "/tokenizer"), ElementsAre("notes.txt", "tokenizer.json", "vocab.json"));
}

TEST_F(Copies, NoFolderIsMadeForATokenizerWithoutFiles) {
  keep({{}, {}});
  EXPECT_FALSE(base::directory_exists(host(1) + "/tokenizer"));
}

TEST_F(Copies, AreReadBeforeTheStatedPathsOnlyToResume) {
  const std::string model = host(0) + "/checkpoints/step-00000004/model", stated = folder_.path() + "/stated";
  for (const std::string& folder : {model, stated}) {
    base::make_directories(folder);
    base::write_file_atomic(folder + "/tokenizer.json", folder);
  }
  config::Settings s = settings(stated);
  EXPECT_EQ(with_copies_of_run(s).tokenizer, stated);  // a folder without config.json is no checkpoint
  base::write_file_atomic(model + "/config.json", "{}");
  base::write_file_atomic(model + "/chat_template.jinja", "copy");
  s.data.chat_template = "gone.jinja";
  EXPECT_EQ(with_copies_of_run(s).tokenizer, model);
  EXPECT_EQ(with_copies_of_run(s).chat_template, model + "/chat_template.jinja");
  EXPECT_THAT(replaced_tokenizer(s.data, with_copies_of_run(s)).english,
              HasSubstr("which differs from the one at data.tokenizer"));
  base::write_file_atomic(stated + "/tokenizer.json", model);
  EXPECT_THAT(replaced_tokenizer(s.data, with_copies_of_run(s)).english, IsEmpty());
  base::write_file_atomic(stated + "/new.jinja", "new");
  s.data.chat_template = stated + "/new.jinja";
  EXPECT_EQ(with_copies_of_run(s).chat_template, stated + "/new.jinja");
  s.data.tokenizer = "gone";
  EXPECT_THAT(replaced_tokenizer(s.data, with_copies_of_run(s)).english,
              HasSubstr("data.tokenizer 'gone' has no tokenizer"));
  s.data.tokenizer = stated;
  s.data.chat_template = "chatml";
  EXPECT_EQ(with_copies_of_run(s).chat_template, "chatml");
  s.train.resume = "never";
  EXPECT_EQ(with_copies_of_run(s).tokenizer, stated);
  s.train.resume = "auto";
  s.data.tokenizer = "bytes";
  EXPECT_EQ(with_copies_of_run(s).tokenizer, "bytes");
}

}  // namespace
}  // namespace troika::train
