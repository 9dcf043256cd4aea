#include "run/run_preparation.h"

#include "base/atomic_file.h"
#include "base/hash.h"
#include "checkpoint/checkpoint_reader.h"
#include "data/conversation_tokens.h"
#include "data/source_files.h"
#include "hardware/detect.h"
#include "model/blocks.h"
#include "model/config_import.h"
#include "model/foreign_models.h"
#include "model/vocabulary_growth.h"
#include "project/project_file.h"
#include "project/project_model.h"
#include "run/control_tokens.h"
#include "run/device_choice.h"
#include "run/model_companions.h"
#include "run/plan_rates.h"
#include "run/run_branch.h"
#include "run/run_plan.h"
#include "run/state_drives.h"
#include "run/store_state.h"
#include "storage/model_reader.h"
#include "train/load_weights.h"

#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <malloc.h>

namespace millrace {

namespace {

/// Above what trained models are usually trained on with.
constexpr double boldLearningRate = 1e-4;

Path tokenizerCopy(const RunDirectory& directory) {
  return directory.path() / "tokenizer.json";
}

/// Token files may be shared by runs; XDG's place for what can be made again.
Path cacheDirectory(const Project& project) {
  if (!project.data.cache.empty()) return project.data.cache;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return Path(cache) / "millrace" / "tokens";
  if (const char* home = std::getenv("HOME"); home && *home) return Path(home) / ".cache" / "millrace" / "tokens";
  return std::filesystem::temp_directory_path() / "millrace-tokens";
}

void returnFreeMemory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

std::string fingerprintOf(const RunDescription& description) {
  Hasher128 hasher;
  hasher.update(configFromModelSpec(description.spec, "float32").dump());
  hasher.update(toString(description.project.training.precision));
  return hasher.hex();
}

Result<ModelReader> openWeights(FileSystem& files, const Path& folder, const ModelSpec& spec) {
  MILLRACE_TRY(const ModelSpec stored, readModelConfig(files, folder));
  ModelReadOptions options;
  if (stored.vocabulary != spec.vocabulary) options.storedVocabulary = stored.vocabulary;
  return ModelReader::open(files, folder, spec, options);
}

/// Of where the project takes its model and tokenizer from.
std::vector<CheckpointFile> companionsOf(FileSystem& files, const Project& project,
                                         std::vector<std::string>& warnings) {
  const auto* model = std::get_if<ModelFolder>(&project.model);
  const auto* tokenizer = std::get_if<TokenizerFile>(&project.tokenizer);
  const Path folder = model ? model->folder : Path();
  if (tokenizer) return readCompanions(files, tokenizer->file.parent_path(), folder, warnings);
  return readCompanions(files, std::holds_alternative<TokenizerOfModel>(project.tokenizer) ? folder : Path(), folder,
                        warnings);
}

/// While a drive has no room for state, which it had when the run began: files that are written over may need some, on
/// file systems that keep what they replace. Both must outlive what is returned.
std::function<bool(const Error&)> roomOnDisk(RunRequests& requests, Log& log) {
  using Time = std::chrono::steady_clock;
  return [&requests, &log, told = std::optional<Time::time_point>()](const Error& full) mutable {
    if (!told || Time::now() - *told > std::chrono::minutes(1)) {
      log.warning("The run waits for room on the disk, and goes on by itself: {}", full.message);
      told = Time::now();
    }
    return !requests.waitForStop(std::chrono::seconds(2));
  };
}

class Preparation {
 public:
  Preparation(FileSystem& files, const RunDescription& description, const RunDirectory& directory,
              CheckpointStore& checkpoints, RunRequests& requests, Log& log,
              const std::function<void(const std::string&)>& say)
      : m_files(files),
        m_description(description),
        m_project(description.project),
        m_directory(directory),
        m_checkpoints(checkpoints),
        m_requests(requests),
        m_log(log),
        m_say(say) {}

  Result<PreparedRun> run(bool resume) {
    const NvmeConfig& nvme = m_project.memory.nvme;
    TierFiles::sweep(m_files, nvme.directories, m_log);
    std::vector<Path> folders{m_directory.path()};
    folders.insert(folders.end(), nvme.directories.begin(), nvme.directories.end());
    m_profile = detectHardware(folders);
    MILLRACE_TRY(m_choice, readyDevice(m_project.training.device, "training.device", m_profile));
    m_say(m_choice.reason);
    m_profile = withRates(m_files, std::move(m_profile), m_project, m_choice.gpu);
    m_run.pool = std::make_unique<ThreadPool>(static_cast<int>(computeThreads(m_project, m_profile)));
    // What costs nothing and may refuse comes first.
    PlanTarget target;
    target.gpu = m_choice.gpu;
    MILLRACE_TRY(const MemoryLimits limits, this->limits(target));
    const PlanRequest request = planRequest(m_project, limits, m_profile, target);
    Result<PlannedStep> step = planRun(m_description.spec, request, limits);
    if (!step) {
      if (step.error().kind == ErrorKind::DoesNotFit)
        if (const std::string less = whatNeedsLess(m_description.spec, request); !less.empty())
          step.error().message += "; " + less;
      return tl::unexpected<Error>(step.error());
    }
    m_run.plan = std::move(step->memory);
    m_run.time = step->time;
    m_run.rates = request.rates.value_or(StepRates{});
    if (!resume && !m_description.branch) MILLRACE_CHECK(openModel());
    MILLRACE_CHECK(prepareTokenizer());
    MILLRACE_CHECK(prepareData());
    MILLRACE_CHECK(prepareTrainer());
    MILLRACE_CHECK(loadState(resume));
    return std::move(m_run);
  }

 private:
  /// Of what the target computes on; sets what of it depends on drives for state, which alone are left in the profile.
  Result<MemoryLimits> limits(PlanTarget& target) {
    const NvmeConfig& nvme = m_project.memory.nvme;
    target.nvme = !nvme.directories.empty();
    if (nvme.limit > 0) target.budgets.disk = nvme.limit;
    const std::optional<DiskFacts> checkpoints = checkpointDisk(m_profile, nvme);
    keepStateDrives(m_profile, nvme);
    MemoryLimits limits = withoutDriver(memoryLimits(m_project, m_profile, target), m_choice.driverBytes);
    if (!target.nvme || !checkpoints || !holdsCheckpoints(m_profile, *checkpoints)) return limits;
    // Those of a run that goes on have their room already.
    MILLRACE_TRY(const std::vector<CheckpointEntry> saved, m_checkpoints.list());
    const std::int64_t parameters = parameterCount(m_description.spec);
    const Bytes needed = checkpointDiskBytes(m_project, parameters) - std::ssize(saved) * 12 * parameters;
    limits.disk = besideCheckpoints(std::move(limits.disk), std::max<Bytes>(0, needed));
    return limits;
  }

  /// Weights that are not the model's are refused before its data is read.
  Status openModel() {
    const auto* folder = std::get_if<ModelFolder>(&m_project.model);
    if (!folder) return {};
    MILLRACE_TRY(m_weights, openWeights(m_files, folder->folder, m_description.spec));
    return {};
  }

  Status prepareTokenizer() {
    if (m_description.tokenizer) {
      m_run.tokenizerText = *m_description.tokenizer;
    } else {
      m_say("training the tokenizer");
      const auto& training = std::get<TokenizerTraining>(m_project.tokenizer);
      BpeTrainerOptions options;
      options.vocabularySize = training.vocabulary;
      options.byteLimit = training.bytes;
      MILLRACE_TRY(m_run.tokenizerText,
                   trainTokenizer(m_files, *m_run.pool, m_log, dataSpecOf(m_description), options, progress(), {}));
    }
    MILLRACE_CHECK(writeTextFile(m_files, tokenizerCopy(m_directory), m_run.tokenizerText));
    MILLRACE_TRY(Tokenizer tokenizer, Tokenizer::parse(m_run.tokenizerText, tokenizerCopy(m_directory).string()));
    if (tokenizer.vocabularySize() > m_description.spec.vocabulary)
      return badInput(fmt::format(
          "the tokenizer has {} tokens, the model's vocab_size is {}: they do not belong together, or the model "
          "needs more rows",
          tokenizer.vocabularySize(), m_description.spec.vocabulary));
    m_run.tokenizer = std::make_unique<Tokenizer>(std::move(tokenizer));
    return {};
  }

  Status prepareData() {
    m_say("reading the data");
    MILLRACE_TRY(m_run.dataset,
                 openDataset(m_files, *m_run.pool, m_log, dataSpecOf(m_description), *m_run.tokenizer, progress()));
    MILLRACE_TRY(m_run.source, m_run.dataset->trainingSource(m_project.training.context,
                                                             static_cast<std::uint64_t>(m_project.training.seed)));
    MILLRACE_TRY(m_run.validation, m_run.dataset->validationReader(m_project.training.context));
    m_run.source->setWaiting(progress());
    m_run.validation->setWaiting(progress());
    if (m_project.training.length.unit == LengthUnit::Epochs) {
      m_say("a length in epochs is known when all data is tokenized: waiting for it");
      MILLRACE_CHECK(m_run.dataset->waitUntilComplete(progress()));
    }
    ModelSpec named = m_description.spec;
    nameControlTokens(named, *m_run.tokenizer);
    const auto turnEnd = m_run.dataset->turnEnd(); // who has learnt to end a turn is to be heard
    if (turnEnd && std::find(named.eosTokens.begin(), named.eosTokens.end(), *turnEnd) == named.eosTokens.end())
      named.eosTokens.push_back(*turnEnd);
    m_run.configText = configFromModelSpec(named, "float32").dump(2) + "\n";
    // What is wrong with the data is told before memory is taken; the rest is tokenized while the run trains.
    MILLRACE_CHECK(m_run.source->seek({}));
    MILLRACE_CHECK(tellData(m_run, m_log));
    if (!m_run.dataTold)
      m_say(fmt::format("training begins with the first {} tokens, while the rest of the data is tokenized",
                        formatCount(m_run.dataset->summary().trainingTokens)));
    return {};
  }

  DataProgressCallback progress() {
    return [this, last = std::chrono::steady_clock::now()](const DataProgress& now) mutable {
      const auto time = std::chrono::steady_clock::now();
      if (now.total > 0 && time - last > std::chrono::seconds(2)) {
        last = time;
        m_say(fmt::format("{}: {} of {}",
                          now.phase == DataProgress::Phase::Checking ? "checking the data" : "tokenizing",
                          formatBytes(now.done), formatBytes(now.total)));
      }
      return !m_requests.stopping();
    };
  }

  Status prepareTrainer() {
    // What tokenizing took and gave back goes to the system now, so that the process's peak is what was planned.
    returnFreeMemory();
    m_say(fmt::format("allocating {} of device and {} of host memory",
                      formatBytes(m_run.plan.total(MemoryTier::Device)),
                      formatBytes(m_run.plan.total(MemoryTier::Host))));
    MILLRACE_CHECK(prepareDisk());
    MILLRACE_TRY(m_run.device,
                 openChosen(m_choice, m_profile, *m_run.pool, m_run.plan.deviceLimit, m_run.plan.hostLimit));
    TrainerOptions options;
    const TrainingConfig& training = m_project.training;
    options.adamW = {training.beta1, training.beta2, training.epsilon, training.weightDecay};
    options.maxGradNorm = training.maxGradNorm;
    options.overlap = training.overlap;
    MILLRACE_TRY(m_run.trainer, Trainer::create(*m_run.device, *m_run.pool, m_description.spec, m_run.plan, options,
                                                m_run.disk.get()));
    for (const std::string& notice : m_run.device->notices()) m_log.warning("{}", notice);
    if (m_choice.gpu >= 0)
      m_run.gpuMonitor =
          std::make_unique<GpuMonitor>(m_profile.nvidia.gpus[static_cast<std::size_t>(m_choice.gpu)].pciAddress);
    return {};
  }

  Status prepareDisk() {
    const Bytes bytes = m_run.plan.total(MemoryTier::Disk);
    if (bytes == 0) return {};
    DiskTierOptions options;
    options.directories = m_project.memory.nvme.directories;
    options.shardBytes = m_project.memory.nvme.shardSize;
    options.owner = m_directory.path().string();
    options.compression = m_project.memory.nvme.compression;
    options.waitForRoom = roomOnDisk(m_requests, m_log);
    m_say(fmt::format("reserving {} of disk space for state", formatBytes(bytes)));
    MILLRACE_TRY(m_run.disk, DiskTier::create(m_files, options, diskRanges(m_run.plan), *m_run.pool, m_log));
    m_run.drives = ratingOf(m_profile.disks);
    m_say(fmt::format("state on disk is read and written by {}", m_run.disk->description()));
    return {};
  }

  Status loadState(bool resume) {
    TrainerState& state = m_run.state;
    const std::string config = fingerprintOf(m_description);
    const std::string data = m_run.dataset->fingerprint();
    MILLRACE_TRY(const std::vector<CheckpointEntry> saved, m_checkpoints.list());
    if (resume && saved.empty() && !m_description.branch)
      m_log.warning("there is no checkpoint in {}: training starts anew, at its first step",
                    m_directory.checkpoints().string());
    if (m_description.branch && (!resume || saved.empty())) return loadBranch(config, data);
    if (!resume || saved.empty()) {
      state.seed = static_cast<std::uint64_t>(m_project.training.seed);
      state.configFingerprint = config;
      state.dataFingerprint = data;
      return firstWeights();
    }
    m_say("loading the checkpoint");
    StoreState parameters(*m_run.trainer);
    MILLRACE_TRY(state, m_checkpoints.loadLatest(parameters));
    if (state.configFingerprint != config)
      return badInput(fmt::format("{}: the model or precision differs from what its checkpoint was trained with; start "
                                  "a new run for other settings",
                                  m_directory.path().string()));
    if (state.dataFingerprint != data)
      return badInput(
          fmt::format("{}: the data, its weights or the tokenizer changed since the checkpoint of step {}, "
                      "so the run cannot go on as if it had never stopped; bring the files back, or start a "
                      "new run (of more than a GiB of data the times of files count as well)",
                      m_directory.path().string(), state.step));
    m_run.trainer->setUpdates(state.optimizerSteps);
    return m_run.source->seek(state.cursor);
  }

  Status loadBranch(const std::string& config, const std::string& data) {
    const BranchPoint& branch = *m_description.branch;
    m_say(fmt::format("beginning from the checkpoint of step {} of {}", formatCount(branch.step), branch.run.string()));
    StoreState parameters(*m_run.trainer);
    CheckpointStore origin(m_files, RunDirectory(branch.run).checkpoints(), m_log);
    MILLRACE_TRY(m_run.state, origin.load(branch.step, parameters));
    const TrainerState& state = m_run.state;
    if (state.configFingerprint != config || state.dataFingerprint != data)
      return badInput(fmt::format(
          "{}: {} changed since the checkpoint of step {}, so that no branch can go on from it; "
          "bring the files back, or export the model and start a new run from that folder",
          branch.run.string(),
          state.configFingerprint != config ? "the model or its precision" : "the data, its weights or the tokenizer",
          formatCount(branch.step)));
    m_run.trainer->setUpdates(state.optimizerSteps);
    return m_run.source->seek(state.cursor);
  }

  Status firstWeights() {
    ForwardRunner& runner = m_run.trainer->runner();
    Stream& stream = *runner.streams().copyIn;
    if (std::holds_alternative<ModelFolder>(m_project.model)) {
      m_say("loading the model");
      if (!m_weights) MILLRACE_CHECK(openModel()); // a resumed run without a checkpoint
      MILLRACE_CHECK(
          loadWeights(runner.store(), stream, [&](const BlockSpec& block, std::int64_t first, std::span<float> values) {
            return m_weights->readBlock(block, first, values);
          }));
      m_weights.reset();
      return {};
    }
    const auto seed = static_cast<std::uint64_t>(m_project.training.seed);
    return drawWeights(runner.store(), stream, *m_run.pool, m_description.spec, seed);
  }

  FileSystem& m_files;
  const RunDescription& m_description;
  const Project& m_project;
  const RunDirectory& m_directory;
  CheckpointStore& m_checkpoints;
  RunRequests& m_requests;
  Log& m_log;
  const std::function<void(const std::string&)>& m_say;
  HardwareProfile m_profile;
  DeviceChoice m_choice;
  std::optional<ModelReader> m_weights; ///< to begin with
  PreparedRun m_run;
};

} // namespace

namespace {

ChatSpec chatSpecOf(const Project& project) {
  const ChatConfig& chat = project.data.chat;
  ChatSpec spec;
  spec.learn = chat.learn;
  spec.overLong = chat.overLong;
  spec.context = project.training.context;
  spec.chatTemplate.builtIn = chat.builtInTemplate;
  spec.chatTemplate.file = chat.templateFile;
  if (!chat.builtInTemplate.empty() || !chat.templateFile.empty()) return spec;
  if (const auto* folder = std::get_if<ModelFolder>(&project.model))
    spec.chatTemplate.model = folder->folder;
  else if (const auto* file = std::get_if<TokenizerFile>(&project.tokenizer))
    spec.chatTemplate.model = file->file.parent_path();
  return spec;
}

} // namespace

DataSpec dataSpecOf(const Project& project) {
  DataSpec spec;
  for (std::size_t i = 0; i < project.data.sources.size(); ++i) {
    const DataSourceSpec& source = project.data.sources[i];
    for (const Path& path : source.paths)
      spec.sources.push_back({path.string(), {source.format, source.textField, source.separator, source.sets}, i});
    if (source.weight) spec.weights.push_back(*source.weight);
  }
  spec.chat = chatSpecOf(project);
  spec.validationFraction = project.data.validationFraction;
  spec.cacheDirectory = cacheDirectory(project);
  spec.badRowLimit = project.data.badRows;
  return spec;
}

DataSpec dataSpecOf(const RunDescription& description) {
  DataSpec spec = dataSpecOf(description.project);
  // A template that is the project's own choice stays where that says.
  if (!description.companionFolder.empty() && !spec.chat.chatTemplate.model.empty())
    spec.chat.chatTemplate.model = description.companionFolder;
  return spec;
}

namespace {

/// Where the model has been trained with another tokenizer: how many of its tokens mean something else in this one.
std::string otherTokens(FileSystem& files, const Tokenizer& tokenizer, const Path& path, const Path& model) {
  const Path own = model / "tokenizer.json";
  if (!files.exists(own)) return {};
  const auto trained = Tokenizer::load(files, own);
  if (!trained) return {};
  std::int64_t other = 0;
  for (std::int32_t id = 0; id < trained->vocabularySize(); ++id)
    if (const auto token = trained->token(id); token && tokenizer.token(id) != token) ++other;
  if (other == 0) return {};
  return fmt::format("{}: {} of the {} tokens of the model's own tokenizer are others here, and mean nothing to its "
                     "weights; leave tokenizer out to take {}",
                     path.string(), formatCount(other), formatCount(trained->vocabularySize()), own.string());
}

} // namespace

Result<RunDescription> describeRun(FileSystem& files, const Project& project, const std::string& source) {
  RunDescription description;
  description.project = project;
  MILLRACE_TRY(description.spec, readProjectModel(files, project, source, &description.warnings));
  Path tokenizer;
  if (const auto* file = std::get_if<TokenizerFile>(&project.tokenizer)) tokenizer = file->file;
  if (std::holds_alternative<TokenizerOfModel>(project.tokenizer)) {
    const auto* folder = std::get_if<ModelFolder>(&project.model);
    if (!folder)
      return badInput(fmt::format("{}: tokenizer is missing: give a file, or train one on the data", source));
    tokenizer = folder->folder / "tokenizer.json";
  }
  const auto* model = std::get_if<ModelFolder>(&project.model);
  if (model && project.training.learningRate > boldLearningRate)
    description.warnings.push_back(fmt::format(
        "training begins with trained weights, and training.learning_rate is {}, which makes them forget much; to "
        "fine-tune them set {}a rate of 1e-5 or so",
        project.training.learningRate,
        project.training.recipe == Recipe::FineTune ? "" : "training.recipe to fine-tune, or "));
  description.companions = companionsOf(files, project, description.warnings);
  const ChatTemplateChoice choice = chatSpecOf(project).chatTemplate;
  if (!choice.builtIn.empty() || !choice.file.empty()) {
    // The template that the model is trained with is its own from now on.
    MILLRACE_TRY(const ChatTemplate chosen, loadChatTemplate(files, choice));
    std::erase_if(description.companions,
                  [](const CheckpointFile& file) { return file.name == "chat_template.jinja"; });
    description.companions.push_back({"chat_template.jinja", chosen.source()});
  }
  if (tokenizer.empty()) return description;
  if (!files.exists(tokenizer))
    return badInput(
        fmt::format("{}: not found{}", tokenizer.string(), adviceOnTokenizer(files, tokenizer.parent_path())),
        std::holds_alternative<TokenizerFile>(project.tokenizer) ? "tokenizer.file" : "model.folder");
  MILLRACE_TRY(description.tokenizer, readTextFile(files, tokenizer, maximumTokenizerFile));
  MILLRACE_TRY(const Tokenizer checked, Tokenizer::parse(*description.tokenizer, tokenizer.string()));
  if (model && tokenizer != model->folder / "tokenizer.json")
    if (std::string warning = otherTokens(files, checked, tokenizer, model->folder); !warning.empty())
      description.warnings.push_back(std::move(warning));
  return description;
}

Status checkInputs(FileSystem& files, const RunDescription& description) {
  const Project& project = description.project;
  Log log; // what is passed over is told by the run
  MILLRACE_TRY(const std::vector<SourceFile> sources, findSourceFiles(files, dataSpecOf(description).sources, log));
  MILLRACE_CHECK(bytesOf(files, sources));
  if (const auto* model = std::get_if<ModelFolder>(&project.model))
    MILLRACE_CHECK(openWeights(files, model->folder, description.spec));
  return {};
}

Json runFileContents(const RunDescription& description) {
  const HardwareProfile profile = detectHardware();
  Json contents = Json::object();
  contents["format"] = 1;
  contents["program"] = MILLRACE_VERSION;
  contents["project"] = projectToJson(description.project);
  contents["model"] = configFromModelSpec(description.spec, "float32");
  if (description.branch) contents["branch"] = branchToJson(*description.branch);
  contents["hardware"] = {{"host", profile.host},
                          {"cpu", profile.cpu.name},
                          {"usable_cores", profile.cpu.usableCores},
                          {"memory_bytes", profile.memory.total}};
  return contents;
}

Result<RunDescription> readRunDescription(FileSystem& files, const RunDirectory& directory) {
  MILLRACE_TRY(const Json contents, readRunFile(files, directory));
  if (!contents.is_object() || !contents.contains("project"))
    return badInput(fmt::format("{}: has no project, expected the run.json of a run", directory.runFile().string()));
  const std::string source = directory.runFile().string();
  MILLRACE_TRY(Project project,
               projectFromJson(contents.at("project"), source, std::filesystem::absolute(directory.path())));
  // A run goes on with the model and the tokenizer that it began with, whatever became of the files they came from.
  std::optional<BranchPoint> branch;
  if (const auto found = contents.find("branch"); found != contents.end()) {
    MILLRACE_TRY(branch, branchFromJson(*found, source));
  }
  if (!files.exists(tokenizerCopy(directory)))
    return branch ? describeBranch(files, project, *branch) : describeRun(files, project, source);
  if (!contents.contains("model")) return describeRun(files, project, source);
  RunDescription description;
  description.branch = branch;
  description.project = std::move(project);
  MILLRACE_TRY(description.spec, modelSpecFromConfig(contents.at("model"), source + ": model"));
  MILLRACE_TRY(description.tokenizer, readTextFile(files, tokenizerCopy(directory), maximumTokenizerFile));
  Log log; // the run tells what is wrong with its checkpoints
  MILLRACE_TRY(const std::vector<CheckpointEntry> saved, CheckpointStore(files, directory.checkpoints(), log).list());
  const auto whole = std::find_if(saved.rbegin(), saved.rend(), [&](const CheckpointEntry& entry) {
    return verifySmallFiles(files, entry.path, companionLimit).has_value();
  });
  if (whole == saved.rend() && branch) {
    description.companionFolder = RunDirectory(branch->run).checkpoints() / checkpointName(branch->step);
    description.companions =
        readCompanions(files, description.companionFolder, description.companionFolder, description.warnings);
    return description;
  }
  if (whole == saved.rend()) {
    description.companions = companionsOf(files, description.project, description.warnings);
    return description;
  }
  description.companionFolder = whole->path;
  description.companions = readCompanions(files, whole->path, whole->path, description.warnings);
  return description;
}

Status tellData(PreparedRun& run, Log& log) {
  if (run.dataTold || !run.dataset->complete()) return {};
  run.dataTold = true;
  returnFreeMemory(); // what tokenizing took
  MILLRACE_CHECK(run.dataset->waitUntilComplete({}));
  const DatasetSummary summary = run.dataset->summary();
  log.info("{} documents, {} tokens to train on, {} held back for validation", formatCount(summary.documents),
           formatCount(summary.trainingTokens), formatCount(summary.validationTokens));
  return {};
}

Result<PreparedRun> prepareRun(FileSystem& files, const RunDescription& description, const RunDirectory& directory,
                               CheckpointStore& checkpoints, bool resume, RunRequests& requests, Log& log,
                               const std::function<void(const std::string&)>& say) {
  return Preparation(files, description, directory, checkpoints, requests, log, say).run(resume);
}

} // namespace millrace
