// Runs BugZoo entries again on the versions that are installed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/examine.h"
#include "harness/life_cycle/stored_entry.h"
#include "harness/run/worker.h"

namespace normfuzz {

// What an entry does on the installed version.
struct EntryRun {
  enum class State { kShows, kGone, kNotApplicable };
  State state = State::kNotApplicable;
  std::string version;                   // that was asked; empty where none could be
  std::string detail;                    // why it is not applicable; how it diverges now, where that is otherwise than recorded
  Verdict verdict = Verdict::kContract;  // where it shows, as are the next two: what it shows now
  std::string law;
  FailureClass failure = FailureClass::kNone;
};

// The runs by which a law is seen broken.
ExamineOptions runs_for(std::string_view law);

class EntryRunner {
 public:
  // `targets`: those that take part; an entry runs on the variant it names, whichever variants these are.
  EntryRunner(std::vector<TargetChoice> targets, WorkerLimits limits) : targets_(std::move(targets)), limits_(std::move(limits)) {}

  // True if the entry's target takes part.
  bool concerns(const StoredEntry& entry) const;
  EntryRun run(const StoredEntry& entry);

 private:
  const TargetChoice* choice_for(const StoredEntry& entry, std::string& reason);
  Worker& worker_of(const TargetChoice& choice);

  std::vector<TargetChoice> targets_;
  WorkerLimits limits_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;  // by label
  std::vector<std::unique_ptr<TargetChoice>> others_;       // variants that entries name and nobody asked for
};

}  // namespace normfuzz
