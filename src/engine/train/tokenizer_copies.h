// Tokenizer, chat template and generation_config.json of a run: which are read, and the copies of them that the run's folder
// keeps (OUT/tokenizer on every host) and hands to its checkpoints. So a run that is moved, or whose first tokenizer is
// gone, is still whole.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "comm/channel.h"
#include "config/settings/settings.h"

namespace troika::train {

// The data settings with copies in place of data.tokenizer and data.chat_template: those of the checkpoint that
// train.resume asks for, as far as they are on this host; where there is no checkpoint yet and the stated tokenizer is gone, those in
// the run's folder. Words (bytes, chatml) and what has no copy stay. Not collective. DataError when a copy is damaged.
config::DataSettings with_copies_of_run(const config::Settings& settings);

// A sentence when the stated tokenizer is there but is not the one that is used; else an empty one.
base::Text replaced_tokenizer(const config::DataSettings& stated, const config::DataSettings& used);

// The files that existed when the run began; later changes in the folder change nothing. One rank's thread.
class TokenizerCopies {
 public:
  using Texts = std::map<std::string, std::string>;  // by file name

  // Collective over `world`. `texts` is called on the first rank of each disk, which alone keeps them; what differs between
  // hosts becomes what rank 0 has. Writes the files into OUT/tokenizer where they are not there already, and removes what
  // another run has left of their kind.
  TokenizerCopies(const std::string& out, const std::function<Texts()>& texts, comm::Channel& world);

  std::vector<checkpoint::ModelFile> files() const;  // valid as long as this

 private:
  Texts texts_;
};

}  // namespace troika::train
