#include "serve/form.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/temporary_folder_test_support.h"

namespace troika::serve {
namespace {
using testing::HasSubstr;

class PathsBelow : public testing::Test {
 protected:
  PathsBelow() {
    base::make_directories(root + "/data");
    base::make_directories(outer.path() + "/secret");
    base::write_file_atomic(root + "/data/a.txt", "a");
    base::write_file_atomic(outer.path() + "/secret/b.txt", "b");
  }

  std::string refusal(const std::string& path, Missing missing = Missing::refused) const {
    try {
      return "took " + path_below(root, path, missing);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
  }
  void link(const std::string& to, const std::string& name) const {
    ASSERT_EQ(::symlink(to.c_str(), (root + "/" + name).c_str()), 0);
  }

  const base::TemporaryFolder outer;
  const std::string root = outer.path() + "/root";
};

TEST_F(PathsBelow, AreGivenFromTheRootOnOrWhole) {
  EXPECT_EQ(path_below(root, "data/a.txt", Missing::refused), root + "/data/a.txt");
  EXPECT_EQ(path_below(root, root + "/data", Missing::refused), root + "/data");
  EXPECT_EQ(path_below(root, "data/../data/./a.txt", Missing::refused), root + "/data/a.txt");
  EXPECT_EQ(path_below(root, root, Missing::refused), root);
}

TEST_F(PathsBelow, LeadNowhereElse) {
  EXPECT_THAT(refusal("../secret/b.txt"), HasSubstr("is not below"));
  EXPECT_THAT(refusal("/etc/passwd"), HasSubstr("is not below"));
  EXPECT_THAT(refusal("/no/such/file"), HasSubstr("is not below"));
  EXPECT_THAT(refusal(root + "-other"), HasSubstr("is not below"));
  EXPECT_THAT(refusal("data/../../secret"), HasSubstr("is not below"));
  EXPECT_THAT(refusal("/etc/passwd/x"), HasSubstr("is not below"));
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
}

TEST_F(PathsBelow, LinksCountAsWhatTheyLeadTo) {
  link(outer.path() + "/secret", "away");
  link("data", "here");
  link("/no/such/place", "broken");
  EXPECT_THAT(refusal("away/b.txt"), HasSubstr("is not below"));
  EXPECT_THAT(refusal("away/new.txt", Missing::allowed), HasSubstr("is not below"));
  EXPECT_EQ(path_below(root, "here/a.txt", Missing::refused), root + "/data/a.txt");
  EXPECT_THAT(refusal("broken"), HasSubstr("is not below"));
  EXPECT_THAT(refusal("broken", Missing::allowed), HasSubstr("is not below"));
  EXPECT_THAT(refusal("broken/new", Missing::allowed), HasSubstr("is not below"));
}

TEST_F(PathsBelow, AFolderThatIsReadHoldsNoLinkThatLeadsOut) {
  const auto found = [&](const std::string& path) -> std::string {
    try {
      check_links_below(root, path);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  };
  base::make_directories(root + "/data/deep/er");
  link("../a.txt", "data/deep/within");
  link("/no/such/place", "data/deep/broken");
  link("data", "data/deep/again");
  EXPECT_EQ(found(root + "/data"), "");
  EXPECT_EQ(found(root + "/data/a.txt"), "");
  link(outer.path() + "/secret/b.txt", "data/deep/er/b.txt");
  EXPECT_THAT(found(root + "/data"), HasSubstr("contains the link deep/er/b.txt, which leads out of " + root));
  EXPECT_THAT(found(root), HasSubstr("contains the link data/deep/er/b.txt"));
}

TEST_F(PathsBelow, MayBeMadeOnlyWhereThatIsSaid) {
  EXPECT_THAT(refusal("data/new/cache"), HasSubstr("does not exist"));
  EXPECT_EQ(path_below(root, "data/new/cache", Missing::allowed), root + "/data/new/cache");
  EXPECT_THAT(refusal("new/../../secret/x", Missing::allowed), HasSubstr("is not below"));
}

}  // namespace
}  // namespace troika::serve
