#include "commands.h"

#include "commands/bench.h"
#include "commands/check.h"
#include "commands/ctl.h"
#include "commands/data.h"
#include "commands/eval.h"
#include "commands/export.h"
#include "commands/generate.h"
#include "commands/hw.h"
#include "commands/import.h"
#include "commands/plan.h"
#include "commands/resume.h"
#include "commands/runs.h"
#include "commands/tokenizer.h"
#include "commands/train.h"
#include "commands/watch.h"

namespace millrace::cli {

void addCommands(CLI::App& app, Program& program) {
  addTrain(app, program);
  addResume(app, program);
  addWatch(app, program);
  addCtl(app, program);
  addGenerate(app, program);
  addEval(app, program);
  addImport(app, program);
  addExport(app, program);
  addRuns(app, program);
  addPlan(app, program);
  addHw(app, program);
  addTokenizer(app, program);
  addData(app, program);
  addCheck(app, program);
  addBench(app, program);
}

} // namespace millrace::cli
